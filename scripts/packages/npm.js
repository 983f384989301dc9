#!/usr/bin/env node
// Starts the program of this platform, which is an optional dependency of this package.
'use strict';
const { spawn } = require('node:child_process');

const name = `git-checkpoint-${process.platform}-${process.arch}`;
const program = process.platform === 'win32' ? 'git-checkpoint.exe' : 'git-checkpoint';
let path;
try {
  path = require.resolve(`${name}/${program}`);
} catch {
  console.error(`fatal: git-checkpoint has no program for ${process.platform} ${process.arch} here`);
  console.error(`hint: install it without --no-optional, or from source: cargo install git-checkpoint`);
  process.exit(128);
}
const child = spawn(path, process.argv.slice(2), { stdio: 'inherit', windowsHide: true });
// The program handles these itself; this process only waits for it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('error', (error) => {
  console.error(`fatal: cannot start ${path}: ${error.message}`);
  process.exit(128);
});
child.on('exit', (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
