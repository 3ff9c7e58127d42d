#!/usr/bin/env node
// Starts the mcp-proxmox program that npm installed for this system.
//
// The program lies in a package of its own for each system, an optional dependency of this one. Where Node can
// (22.15 and newer, not on Windows), the program takes this process over, so that no Node stays in memory.
// Elsewhere it runs below this process, which hands on its streams, its signals and its exit code.
//
// Nothing is ever written to standard output here: it belongs to the protocol.

'use strict';

const fs = require('node:fs');
const path = require('node:path');

// The systems that there is a program for. A system may also run the program of another one after it.
const SYSTEMS = {
  'linux-x64': ['linux-x64'],
  'linux-arm64': ['linux-arm64'],
  'darwin-x64': ['darwin-x64'],
  'darwin-arm64': ['darwin-arm64', 'darwin-x64'],
  'win32-x64': ['win32-x64'],
  'win32-arm64': ['win32-arm64', 'win32-x64'],
};
const RELEASES = 'https://github.com/drmfar/mcp-proxmox/releases';
const OTHER_WAYS =
  `hint: take the program from ${RELEASES} and set MCP_PROXMOX_BINARY to its path,\n` +
  '      or use the MCPB bundle or the container image that are listed there';

/** Says what is wrong and ends. */
function fail(text) {
  fs.writeSync(2, `mcp-proxmox: ${text}\n`);
  process.exit(1);
}

/** The program that the user named, or the one that npm installed. */
function find() {
  const named = process.env.MCP_PROXMOX_BINARY;
  if (named) return path.resolve(named);
  const system = `${process.platform}-${process.arch}`;
  const candidates = SYSTEMS[system];
  if (candidates === undefined) {
    fail(`there is no program for ${system}, only for ${Object.keys(SYSTEMS).join(', ')}\n\n${OTHER_WAYS}`);
  }
  for (const candidate of candidates) {
    try {
      const manifest = require.resolve(`@drmfar/mcp-proxmox-${candidate}/package.json`);
      return path.join(path.dirname(manifest), 'bin', process.platform === 'win32' ? 'mcp-proxmox.exe' : 'mcp-proxmox');
    } catch {
      // Not installed: the next one, or the message below.
    }
  }
  return fail(
    `the program for ${system} is not installed: the package @drmfar/mcp-proxmox-${system} is missing.\n` +
      'npm leaves it out when optional packages are not wanted, when a lock file comes from another system, or when\n' +
      'node_modules was copied from one.\n\n' +
      'hint: npm install --include=optional @drmfar/mcp-proxmox\n' +
      OTHER_WAYS.replace('hint: ', '      or '),
  );
}

/** Checks what `execve` would otherwise end the process over without a word that helps. */
function check(program) {
  try {
    fs.accessSync(program, fs.constants.X_OK);
    if (!fs.statSync(program).isFile()) throw new Error('it is not a file');
  } catch (error) {
    const from = process.env.MCP_PROXMOX_BINARY ? ', which MCP_PROXMOX_BINARY names,' : '';
    fail(`the program ${program}${from} cannot be run: ${error.message}\n\n${OTHER_WAYS}`);
  }
}

/** Runs the program below this process, and ends as it ends. */
function run(program, args) {
  const { spawn } = require('node:child_process');
  let child;
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
  // From before the program runs: a signal that comes in between would end this process and leave the program.
  const handOn = (signal) => child.kill(signal);
  for (const signal of signals) process.on(signal, handOn);
  child = spawn(program, args, { stdio: 'inherit', windowsHide: true });
  child.on('error', (error) => fail(`the program ${program} cannot be run: ${error.message}\n\n${OTHER_WAYS}`));
  child.on('exit', (code, signal) => {
    for (const signal of signals) process.removeListener(signal, handOn);
    // A program that a signal ended is seen as such by whoever started this one.
    if (signal) process.kill(process.pid, signal);
    else process.exit(code);
  });
}

const program = find();
check(program);
const args = process.argv.slice(2);
if (typeof process.execve === 'function' && process.platform !== 'win32') {
  // Node calls this experimental, in a warning that would stand in every client's log.
  process.removeAllListeners('warning');
  process.execve(program, [program, ...args], process.env);
} else {
  run(program, args);
}
