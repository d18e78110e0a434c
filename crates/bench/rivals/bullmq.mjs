// usage: node bullmq.mjs JOBS REDIS_URL
// Queues no-op jobs in BullMQ, works them off, and prints how long the latter took as one line
// of JSON.
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";

const [jobs, url] = [Number(process.argv[2]), process.argv[3]];
setTimeout(() => {
  throw new Error("not done after ten minutes");
}, 600_000).unref();
const name = "noop";
// Of 1 to 500 at once nothing was faster, with persistence or without.
const concurrency = 100;
const connect = () => new Redis(url, { maxRetriesPerRequest: null });

const connection = connect();
await connection.flushall();
const queue = new Queue(name, { connection });
for (let start = 0; start < jobs; start += 1000) {
  const size = Math.min(1000, jobs - start);
  // The least that it can keep of a job.
  const job = { name, data: {}, opts: { removeOnComplete: true } };
  await queue.addBulk(Array.from({ length: size }, () => job));
}

const worker = new Worker(name, async () => {}, {
  connection: connect(),
  concurrency,
  autorun: false,
});
const drained = new Promise((resolve, reject) => {
  let done = 0;
  // Comes after Redis has taken the outcome.
  worker.on("completed", () => ++done === jobs && resolve());
  worker.on("failed", (_, error) => reject(error));
  worker.on("error", reject);
});
await worker.waitUntilReady();
const started = performance.now();
worker.run();
await drained;
const seconds = (performance.now() - started) / 1000;

const counts = await queue.getJobCounts();
const left = Object.values(counts).reduce((sum, count) => sum + count, 0);
if (left > 0) throw new Error(`${left} jobs were left`);
console.log(JSON.stringify({ jobs, seconds }));
process.exit(0);
