// One way to start the server, put through the official client, and what starting it costs.
//
//     node launch.mjs NAME COMMAND ARGUMENT…
//
// The cost is the time from the start to the first answer, and the memory of all processes that it then takes.
// The closing line is `NAME: N passed, N failed`.

import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [name, command, ...args] = process.argv.slice(2);
const times = 5;
let passed = 0;
let failed = 0;

function check(what, holds, found) {
  if (holds) passed += 1;
  else {
    failed += 1;
    console.log(`FAILED ${name}: ${what}`, JSON.stringify(found)?.slice(0, 1500) ?? '');
  }
}

/** Connects as a client does, lists the tools and calls one. */
async function used(mode) {
  const client = new Client({ name: 'check', version: '0' }, { versionNegotiation: { mode } });
  await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'ignore' }));
  const { tools } = await client.listTools();
  check(`${mode}: the tools are listed`, tools.some((tool) => tool.name === 'list_vms'), tools);
  const answer = await client.callTool({ name: 'list_vms', arguments: { limit: 3 } });
  check(`${mode}: a call is answered`, !answer.isError && answer.structuredContent?.total > 10, answer);
  await client.close();
}

/** The memory of a process and all below it, in MiB. */
function memory(root) {
  const parents = new Map();
  for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const text = readFileSync(`/proc/${pid}/status`, 'utf8');
      const field = (key) => Number(text.match(new RegExp(`^${key}:\\s+(\\d+)`, 'm'))?.[1] ?? 0);
      parents.set(Number(pid), { parent: field('PPid'), size: field('VmRSS') / 1024 });
    } catch {
      // It has ended meanwhile.
    }
  }
  const isBelow = (pid) => pid === root || (parents.has(pid) && pid > 1 && isBelow(parents.get(pid).parent));
  return [...parents].filter(([pid]) => isBelow(pid)).reduce((sum, [, { size }]) => sum + size, 0);
}

/** Starts it once: milliseconds to the first answer, and MiB then. */
function started() {
  return new Promise((resolve, reject) => {
    const since = process.hrtime.bigint();
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
    let said = '';
    child.on('error', reject);
    child.stdout.on('data', (part) => {
      said += part;
      if (!said.includes('\n') || child.stdin.writableEnded) return;
      const took = Number(process.hrtime.bigint() - since) / 1e6;
      const size = process.platform === 'linux' ? memory(child.pid) : NaN;
      check('the first answer is one', JSON.parse(said.split('\n')[0]).result?.serverInfo?.name === 'mcp-proxmox', said);
      child.stdin.end();
      child.on('exit', (code) => {
        check('it ends well when its input ends', code === 0, code);
        resolve({ took, size });
      });
    });
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'check', version: '0' } };
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
  });
}

try {
  await used('legacy');
  await used('auto');
  const runs = [];
  for (let time = 0; time < times; time += 1) runs.push(await started());
  const sorted = (key) => runs.map((run) => run[key]).sort((a, b) => a - b);
  const took = sorted('took');
  console.log(
    `${name}: first answer after ${took[times >> 1].toFixed(0)} ms (median of ${times}; at best ${took[0].toFixed(0)}), ` +
      `${sorted('size')[times >> 1].toFixed(0)} MiB in all processes`,
  );
} catch (error) {
  check('it runs', false, String(error?.stack ?? error));
}
console.log(`${name}: ${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
