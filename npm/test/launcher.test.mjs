// The launcher, started as npm starts it, with programs that say how they were started.
//
// Run by each version of Node that it must work with: `node --test npm/test/launcher.test.mjs`.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const dist = fileURLToPath(new URL('../dist', import.meta.url));
const system = `${process.platform}-${process.arch}`;
const replaces = typeof process.execve === 'function';
const root = mkdtempSync(path.join(tmpdir(), 'launcher-'));
after(() => rmSync(root, { recursive: true }));

/** Writes a program. */
function program(name, text) {
  const file = path.join(root, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** The launcher in a folder of its own, as npm lays it out. */
function installed(name) {
  const folder = path.join(root, name, 'node_modules/@drmfar/mcp-proxmox');
  cpSync(dist, path.join(folder, 'dist'), { recursive: true });
  return path.join(folder, 'dist/index.js');
}

/** A package beside it, with a program for a system. */
function withProgram(name, of, text) {
  const folder = path.join(name, `node_modules/@drmfar/mcp-proxmox-${of}`);
  program(path.join(folder, 'bin/mcp-proxmox'), text);
  writeFileSync(path.join(root, folder, 'package.json'), '{"version": "0.0.0"}');
}

/** Runs the launcher to its end. */
function run(launcher, args, { env = {}, input = '' } = {}) {
  const clean = { ...process.env, ...env };
  if (!('MCP_PROXMOX_BINARY' in env)) delete clean.MCP_PROXMOX_BINARY;
  return spawnSync(process.execPath, [launcher, ...args], { env: clean, input, encoding: 'utf8', maxBuffer: 2 ** 24 });
}

test('arguments, streams, environment and exit code pass through', () => {
  withProgram('through', system, 'read line; echo "$line|$1|$2|$GREETING"; echo oops >&2; exit 7');
  const said = run(installed('through'), ['--demo', 'two words'], { env: { GREETING: 'hello' }, input: 'from stdin\n' });
  assert.equal(said.stdout, 'from stdin|--demo|two words|hello\n');
  assert.equal(said.stderr, 'oops\n');
  assert.equal(said.status, 7);
});

test('the program takes over the process where Node can', { skip: !replaces && 'this Node cannot' }, () => {
  withProgram('same', system, 'echo $$');
  const launcher = spawnSync(process.execPath, [installed('same')], { encoding: 'utf8' });
  assert.equal(launcher.stdout.trim(), String(launcher.pid));
});

test('nothing is lost of much input and much output', () => {
  withProgram('much', system, 'cat');
  const input = `${'x'.repeat(1000)}\n`.repeat(3000);
  assert.equal(run(installed('much'), [], { input }).stdout.length, input.length);
});

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
  test(`${signal} reaches the program, which may end as it likes`, async () => {
    withProgram(signal, system, `trap 'echo caught; exit 3' ${signal.slice(3)}; echo ready; while :; do read line || exit 9; done`);
    const child = spawn(process.execPath, [installed(signal)], { stdio: ['pipe', 'pipe', 'inherit'] });
    const ended = new Promise((resolve) => child.on('exit', (code, by) => resolve(code ?? by)));
    // Where it ends before the line below is written, that is no matter.
    child.stdin.on('error', () => {});
    let said = '';
    for await (const part of child.stdout) {
      said += part;
      if (said === 'ready\n') {
        child.kill(signal);
        // The shell looks at its traps when its `read` returns.
        child.stdin.write('\n');
      }
    }
    assert.equal(said, 'ready\ncaught\n');
    assert.equal(await ended, 3);
  });
}

test('a program that a signal ended is seen as such', () => {
  withProgram('killed', system, 'kill -9 $$');
  assert.equal(run(installed('killed'), []).signal, 'SIGKILL');
});

test('the environment names another program', () => {
  const file = program('elsewhere/other', 'echo other');
  withProgram('override', system, 'echo installed');
  const said = run(installed('override'), [], { env: { MCP_PROXMOX_BINARY: file } });
  assert.equal(said.stdout, 'other\n');
});

test('a program that is named but not there is told, on standard error', () => {
  const said = run(installed('nowhere'), [], { env: { MCP_PROXMOX_BINARY: '/nonexistent/program' } });
  assert.equal(said.status, 1);
  assert.equal(said.stdout, '');
  assert.match(said.stderr, /\/nonexistent\/program, which MCP_PROXMOX_BINARY names, cannot be run/);
});

test('a program that may not be run is told', () => {
  withProgram('locked', system, 'echo no');
  chmodSync(path.join(root, `locked/node_modules/@drmfar/mcp-proxmox-${system}/bin/mcp-proxmox`), 0o644);
  const said = run(installed('locked'), []);
  assert.equal(said.status, 1);
  assert.match(said.stderr, /cannot be run: EACCES/);
});

test('a package that is missing is told, with what to do', () => {
  const said = run(installed('missing'), ['--demo']);
  assert.equal(said.status, 1);
  assert.equal(said.stdout, '');
  for (const part of [`@drmfar/mcp-proxmox-${system} is missing`, 'npm install --include=optional', 'MCP_PROXMOX_BINARY', '/releases']) {
    assert.ok(said.stderr.includes(part), `${part} is not in ${said.stderr}`);
  }
  assert.ok(!said.stderr.includes('node:internal'), 'no trace of Node');
});

test('a system that there is no program for is told, with those that there are', () => {
  const launcher = installed('unknown');
  // The only thing that is not as on the real system: what Node says of it.
  const before = program('unknown/as-sunos.cjs', '');
  writeFileSync(before, "Object.defineProperty(process, 'platform', { value: 'sunos' });");
  const said = spawnSync(process.execPath, ['--require', before, launcher], { encoding: 'utf8' });
  assert.equal(said.status, 1);
  assert.match(said.stderr, /there is no program for sunos-/);
  assert.match(said.stderr, /linux-arm64/);
});

test('nothing but the program speaks when all is well', () => {
  withProgram('silent', system, 'exit 0');
  const said = run(installed('silent'), []);
  assert.deepEqual([said.status, said.stdout, said.stderr], [0, '', '']);
});
