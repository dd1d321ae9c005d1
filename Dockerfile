# warpwise with its whole toolchain. docs/install.md has the flags for GPU, sandbox and hardware counters.
ARG BASE=nvidia/cuda:13.0.1-base-ubuntu24.04

FROM ${BASE} AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3-venv \
    && rm -rf /var/lib/apt/lists/*
COPY pyproject.toml README.md LICENSE /source/
COPY src /source/src
COPY server /source/server
COPY attribution /source/attribution
RUN python3 -m venv /opt/build \
    && /opt/build/bin/pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM ${BASE}
# From NVIDIA's repository, which the base image brings along: PyPI has neither of them. "" builds without.
ARG NVIDIA_PACKAGES="cuda-nsight-compute-13-0 cuda-gdb-13-0"
RUN apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap g++ python3-venv ${NVIDIA_PACKAGES} \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /wheels /tmp/wheels
RUN python3 -m venv /opt/warpwise \
    && /opt/warpwise/bin/pip install --no-cache-dir "$(echo /tmp/wheels/warpwise-*.whl)[toolchain,ncu,verify]" \
    && rm -r /tmp/wheels \
    && useradd --uid 10001 --create-home warpwise \
    && install --directory --owner warpwise --group warpwise /state /kernels

ENV PATH=/opt/warpwise/bin:${PATH} WARPWISE_STATE=/state
USER warpwise
WORKDIR /kernels
VOLUME /state
EXPOSE 8931
# Others can reach this address, so the daemon starts only with a token: WARPWISE_TOKEN or WARPWISE_TOKEN_FILE.
ENTRYPOINT ["warpwise"]
CMD ["serve", "--http", "0.0.0.0:8931", "--allow-host", "localhost"]
