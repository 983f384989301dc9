// Drives claude-flow's own session manager (2.x) without a model.
//
// Usage: node claude-flow.mjs PACKAGE DIR
//   PACKAGE  the unpacked package claude-flow, with better-sqlite3 to be found from it
//   DIR      an empty directory; its .hive-mind is written
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [root, dir] = process.argv.slice(2);
process.chdir(dir);
const base = 'cli/simple-commands/hive-mind/session-manager.js';
const load = async () => {
  for (const below of ['dist/src', 'src']) {
    try {
      return await import(pathToFileURL(path.join(root, below, base)));
    } catch (error) {
      if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    }
  }
  throw new Error(`no session manager in ${root}`);
};
const { HiveMindSessionManager } = await load();
const manager = new HiveMindSessionManager(path.join(dir, '.hive-mind'));
await manager.ensureInitialized?.();
const run = (sql, ...values) => manager.db.prepare(sql).run(...values);
const tables = [
  `CREATE TABLE IF NOT EXISTS swarms (id TEXT PRIMARY KEY, name TEXT NOT NULL, objective TEXT, status TEXT DEFAULT 'active', queen_type TEXT DEFAULT 'strategic', created_at DATETIME DEFAULT CURRENT_TIMESTAMP, updated_at DATETIME DEFAULT CURRENT_TIMESTAMP)`,
  `CREATE TABLE IF NOT EXISTS agents (id TEXT PRIMARY KEY, swarm_id TEXT, name TEXT NOT NULL, type TEXT, role TEXT, status TEXT DEFAULT 'idle', capabilities TEXT, created_at DATETIME DEFAULT CURRENT_TIMESTAMP)`,
  `CREATE TABLE IF NOT EXISTS tasks (id TEXT PRIMARY KEY, swarm_id TEXT, agent_id TEXT, description TEXT, status TEXT DEFAULT 'pending', priority INTEGER DEFAULT 5, result TEXT, created_at DATETIME DEFAULT CURRENT_TIMESTAMP, completed_at DATETIME)`,
];
tables.forEach((sql) => run(sql));
run('INSERT INTO swarms (id, name, objective) VALUES (?, ?, ?)', 'swarm-tide', 'hive-tide', 'Parse the tide tables');
run('INSERT INTO agents (id, swarm_id, name, type, role) VALUES (?, ?, ?, ?, ?)', 'a1', 'swarm-tide', 'Queen', 'coordinator', 'queen');
run('INSERT INTO tasks (id, swarm_id, agent_id, description, status) VALUES (?, ?, ?, ?, ?)', 't1', 'swarm-tide', 'a1', 'Parse the heights', 'in_progress');
const id = await manager.createSession('swarm-tide', 'hive-tide', 'Parse the tide tables', { queenType: 'strategic', note: 'n'.repeat(40) });
await manager.saveCheckpoint(id, 'small', { step: 1, when: new Date(0), harbours: new Map([['north', 3]]) });
// Above 1,024 characters the serializer encodes.
const lines = Array.from({ length: 60 }, (_, n) => `harbour ${n} is parsed`);
await manager.saveCheckpoint(id, 'large', { step: 2, lines, nothing: undefined });
await manager.logSessionEvent(id, 'warning', 'The heights are in feet', 'a1', { lines: lines.slice(0, 50) });
await manager.exportSession(id);
await manager.pauseSession(id);
const done = await manager.createSession('swarm-tide', 'hive-tide', 'Count the harbours', {});
await manager.saveCheckpoint(done, 'all', { step: 9, lines });
await manager.completeSession(done);
await manager.archiveSessions(-1);
manager.close();
mkdirSync(path.join(dir, '.hive-mind'), { recursive: true });
writeFileSync(path.join(dir, '.hive-mind', 'ORIGIN'), `${root.split('/').pop()}\n`);
