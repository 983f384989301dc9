// A checkpoint manager of the session directory pattern: every checkpoint a file, with the SHA-256 of the document while
// its `integrity` is empty.
//
// Usage: node session-folder.mjs write DIR     makes a session in DIR
//        node session-folder.mjs read DIR      loads the newest checkpoint of each session in DIR, as JSON
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const digest = (document) =>
  createHash('sha256').update(JSON.stringify({ ...document, integrity: '' })).digest('hex');

class Checkpoints {
  constructor(session, dir) {
    this.session = session;
    this.dir = path.join(dir, 'checkpoints');
    mkdirSync(this.dir, { recursive: true });
  }

  save(state, metadata, at) {
    const document = {
      id: `${this.session}-${at}`,
      version: '1.0.0',
      timestamp: new Date(at).toISOString(),
      state,
      metadata,
      integrity: '',
    };
    document.integrity = digest(document);
    const file = path.join(this.dir, `${document.id}.json`);
    writeFileSync(`${file}.tmp`, JSON.stringify(document, null, 2));
    renameSync(`${file}.tmp`, file);
  }

  list() {
    const names = readdirSync(this.dir).filter((name) => name.startsWith(this.session) && name.endsWith('.json'));
    const time = (name) => Number.parseInt(name.slice(0, -5).split('-').pop(), 10);
    return names.sort((a, b) => time(b) - time(a)).map((name) => ({ name, at: new Date(time(name)).toISOString() }));
  }

  load() {
    const [newest] = this.list();
    if (!newest) return null;
    const document = JSON.parse(readFileSync(path.join(this.dir, newest.name), 'utf8'));
    if (document.version.split('.')[0] !== '1') throw new Error(`version ${document.version}`);
    if (digest(document) !== document.integrity) throw new Error(`${newest.name}: integrity check failed`);
    return document;
  }
}

const write = (root) => {
  const session = 'tide-import';
  const dir = path.join(root, session);
  const points = new Checkpoints(session, dir);
  const at = Date.UTC(2026, 0, 24, 19, 10, 56, 250);
  const state = (cursor) => ({ cursor, ratio: cursor / 3, big: 1e21, names: { 10: 'ten', 2: 'two', b: 'Pier\u00e4ste \u2028' } });
  for (const step of [1, 2]) {
    points.save(state(step), { step, totalSteps: 3, description: `batch ${step} done` }, at + step * 60000);
  }
  const session_json = {
    id: session,
    createdAt: new Date(at).toISOString(),
    updatedAt: new Date(at + 130000).toISOString(),
    status: 'failed',
    config: { checkpointInterval: 10, maxAge: 86400000, autoResume: true },
    state: state(2),
  };
  writeFileSync(path.join(dir, 'session.json'), JSON.stringify(session_json, null, 2));
  mkdirSync(path.join(dir, 'logs'), { recursive: true });
  const error = new Error('the third batch has no heights');
  const entry = { timestamp: new Date(at + 130000).toISOString(), message: error.message, stack: 'Error: the third batch has no heights\n    at batch (tide.js:3:9)' };
  writeFileSync(path.join(dir, 'logs', 'error.json'), JSON.stringify(entry, null, 2));
  appendFileSync(path.join(dir, 'logs', 'session.log'), `${entry.timestamp} batch 3 failed\n`);
  mkdirSync(path.join(dir, 'artifacts'), { recursive: true });
  writeFileSync(path.join(dir, 'artifacts', 'heights.csv'), 'harbour,height\nnorth,3\n');
};

const read = (root) => {
  const sessions = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const found = sessions.map(({ name }) => {
    const head = JSON.parse(readFileSync(path.join(root, name, 'session.json'), 'utf8'));
    const points = new Checkpoints(head.id, path.join(root, name));
    return { id: head.id, status: head.status, points: points.list(), newest: points.load() };
  });
  console.log(JSON.stringify(found, null, 1));
};

const [mode, root] = process.argv.slice(2);
({ write, read })[mode](root);
