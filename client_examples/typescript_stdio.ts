// The same with the TypeScript SDK, over stdio: `npm ci`, then `node typescript_stdio.ts` (Node >= 22.18).
// WARPWISE names the program where it is not on the PATH.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

interface Finding { rule: string; message: string; location: { line: number } }

const BROKEN = `
__global__ void scale(float* data, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= facter;
}`;

const warpwise = new Client({ name: "example", version: "1.0.0" });
const command = process.env["WARPWISE"] ?? "warpwise";
await warpwise.connect(new StdioClientTransport({ command, args: ["serve"], env: process.env as Record<string, string> }));

const { tools } = await warpwise.listTools();
console.log("tools:", tools.map((tool) => tool.name).join(", "));
assert.ok(tools.some((tool) => tool.name === "compile"));

const answer = await warpwise.callTool({ name: "compile", arguments: { source: BROKEN } });
const [error] = (answer.structuredContent as { findings: Finding[] }).findings;
console.log(`line ${error.location.line}: ${error.message}`);
assert.equal(error.location.line, 4);

await warpwise.close();
