"""A candidate is what the client offered, below its root, with what it includes, and nothing else."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from warpwise.server.errors import InvalidRequest, NotFound
from warpwise.server.workbench import Workbench

KERNEL = "__global__ void k(float* x) { x[threadIdx.x] = 1.0f; }\n"
Write = Callable[[str, str], Path]


async def named(bench: Workbench, path: str) -> dict[str, str]:
    found = await bench.candidate(path=path, source=None, id=None)
    return {name: bench.blobs.read(digest).decode() for name, digest in found.files.items()}


async def test_quoted_includes_below_the_root_come_along(bench: Workbench, write: Write) -> None:
    write("src/k.cu", '#include "a.cuh"\n#include <cuda_fp16.h>\n' + KERNEL)
    write("src/a.cuh", '#include "inc/b.cuh"\n')
    write("inc/b.cuh", '#include "../src/a.cuh"\n')
    assert set(await named(bench, "src/k.cu")) == {"src/k.cu", "src/a.cuh", "inc/b.cuh"}


async def test_the_same_bytes_are_the_same_candidate_and_an_included_byte_changes_it(
    bench: Workbench, write: Write
) -> None:
    write("k.cu", '#include "a.cuh"\n' + KERNEL)
    write("a.cuh", "#define N 1\n")
    first = await bench.candidate(path="k.cu", source=None, id=None)
    again = await bench.candidate(path="./k.cu", source=None, id=None)
    write("a.cuh", "#define N 2\n")
    changed = await bench.candidate(path="k.cu", source=None, id=None)
    assert first.id == again.id != changed.id
    assert await bench.candidate(path=None, source=None, id=first.id) == first


async def test_defines_make_another_candidate(bench: Workbench) -> None:
    plain = await bench.candidate(path=None, source=KERNEL, id=None)
    defined = await bench.candidate(path=None, source=None, id=plain.id, defines={"N": "4"})
    assert defined == await bench.candidate(path=None, source=KERNEL, id=None, defines={"N": "4"})
    assert defined.id != plain.id


async def test_paths_out_of_the_root_are_refused_however_they_are_written(
    bench: Workbench, write: Write, root: Path
) -> None:
    outside = root.parent / "secret.cu"
    outside.write_text(KERNEL)
    (root / "link.cu").symlink_to(outside)
    (root / "dir").symlink_to(root.parent)
    for path in ("../secret.cu", str(outside), "link.cu", "dir/secret.cu", "/etc/passwd"):
        with pytest.raises(InvalidRequest, match="lies outside the root"):
            await bench.candidate(path=path, source=None, id=None)


@pytest.mark.parametrize(
    ("content", "what"),
    [(b"", "is empty"), (b" \n\t", "is empty"), (b"\x7fELF\x00\x01", "binary file"), (b"\xff\xfe\x00", "not UTF-8"),
     (b"a" * (50 << 20), "52,428,800 bytes")],
    ids=["empty", "blank", "binary", "not utf-8", "50 MB"],
)  # fmt: skip
async def test_what_is_no_source_is_refused_by_name(
    bench: Workbench, root: Path, content: bytes, what: str
) -> None:
    (root / "x.cu").write_bytes(content)
    with pytest.raises(InvalidRequest, match=what):
        await bench.candidate(path="x.cu", source=None, id=None)


async def test_missing_files_folders_and_devices_are_told_apart(bench: Workbench, root: Path) -> None:
    (root / "d.cu").mkdir()
    os.mkfifo(root / "pipe.cu")
    with pytest.raises(NotFound, match=r"no file x\.cu below"):
        await bench.candidate(path="x.cu", source=None, id=None)
    with pytest.raises(InvalidRequest, match="is a folder"):
        await bench.candidate(path="d.cu", source=None, id=None)
    with pytest.raises(InvalidRequest, match="not a regular file"):
        await bench.candidate(path="pipe.cu", source=None, id=None)


async def test_one_of_path_source_and_id_is_asked_for(bench: Workbench) -> None:
    with pytest.raises(InvalidRequest, match="got none"):
        await bench.candidate(path=None, source=None, id=None)
    with pytest.raises(InvalidRequest, match="got path, source"):
        await bench.candidate(path="k.cu", source=KERNEL, id=None)
    with pytest.raises(NotFound, match="no candidate c-0000000000000000"):
        await bench.candidate(path=None, source=None, id="c-0000000000000000")


async def test_main_and_launches_in_comments_and_strings_do_not_count(bench: Workbench) -> None:
    quiet = await bench.candidate(
        path=None, source='// int main() k<<<1,1>>>()\nconst char* s = "int main()";' + KERNEL, id=None
    )
    loud = await bench.candidate(path=None, source=KERNEL + "int main() { k<<<1, 1>>>(0); }", id=None)
    assert [quiet.is_program, quiet.launches, loud.is_program, loud.launches] == [False, False, True, True]


async def test_headers_in_folders_that_flags_name_come_along(bench: Workbench, write: Write) -> None:
    write("k.cu", '#include "a.h"\n' + KERNEL)
    write("inc/a.h", "#include <b.h>\n")
    write("inc/b.h", "#define N 1\n")
    assert set(await named(bench, "k.cu")) == {"k.cu"}
    found = await bench.candidate(path="k.cu", source=None, id=None, flags=("-I=inc",))
    assert set(found.files) == {"k.cu", "inc/a.h", "inc/b.h"}
