// usage: node graphile.mjs JOBS POSTGRES_URL default|concurrent|tuned
// Queues no-op jobs in graphile-worker, works them off, and prints how long the latter took as
// one line of JSON.
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";

const [jobs, connectionString, form] = [Number(process.argv[2]), process.argv[3], process.argv[4]];
setTimeout(() => {
  throw new Error("not done after ten minutes");
}, 600_000).unref();
const settings = {
  default: {},
  concurrent: { concurrentJobs: 24, maxPoolSize: 25 },
  // What its own documentation gets its best figures with.
  tuned: {
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
}[form];
if (!settings) throw new Error(`unknown form ${form}`);
const logger = new Logger(() => (level, message) => {
  if (level === "error") console.error(message);
});

const client = new pg.Client({ connectionString });
await client.connect();
await client.query("DROP SCHEMA IF EXISTS graphile_worker CASCADE");
const utils = await makeWorkerUtils({ connectionString, logger });
await utils.migrate();
for (let start = 0; start < jobs; start += 10000) {
  const size = Math.min(10000, jobs - start);
  await utils.addJobs(Array.from({ length: size }, () => ({ identifier: "noop", payload: {} })));
}
await utils.release();
// Otherwise PostgreSQL may do it in the middle.
await client.query("VACUUM ANALYZE graphile_worker._private_jobs");
await client.query("CHECKPOINT");

let reached;
const called = new Promise((resolve) => (reached = resolve));
let calls = 0;
const noop = async () => {
  if (++calls === jobs) reached();
};
const runner = await run({
  preset: { worker: { connectionString, ...settings } },
  taskList: { noop },
  logger,
  noHandleSignals: true,
});
const started = performance.now();
await called;
// A job is over when its row is gone.
const left = async () => (await client.query("SELECT 1 FROM graphile_worker.jobs LIMIT 1")).rowCount;
while (await left()) await new Promise((resolve) => setTimeout(resolve, 2));
const seconds = (performance.now() - started) / 1000;

await runner.stop();
await client.end();
console.log(JSON.stringify({ jobs, seconds }));
process.exit(0);
