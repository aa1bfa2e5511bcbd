import * as v from 'valibot';
import { DEFAULT_LIMITS } from '../../images/limits.ts';
import { integer, optional, section, withDefault } from '../../schema/fields.ts';
import type { DeepReadonly } from '../../schema/json.ts';
import { IMAGE_ANSWERS } from '../../store/account.ts';
import { identifier, ONCE, text } from '../fields/text.ts';
import { credits, duration, size } from '../fields/units.ts';
import { providerSchema } from '../providers/provider-kinds.ts';
import { alerts } from './alerts.ts';
import { assets } from './assets.ts';
import { backup } from './backup.ts';
import { images } from './images.ts';
import { limits } from './limits.ts';
import { models } from './models.ts';
import { network } from './network.ts';
import { requests } from './requests.ts';
import { routing } from './routing.ts';
import { server } from './server.ts';
import { sockets } from './sockets.ts';
import { store } from './store.ts';
import { telemetry } from './telemetry.ts';

const pool = v.strictObject({
  threads: optional(integer(1, 256), 'Images processed at once. Unset: one for each core.', {
    ...ONCE,
    example: 4,
  }),
  memory: optional(
    size('64MB', '1000TB'),
    'Memory for all large images in progress, by estimates that Linux enforces. An image that ' +
      "needs more is refused. Unset: half of the container's or machine's memory beyond 512 MB, " +
      'at least 256 MB.',
    { ...ONCE, example: '2GB' },
  ),
});

const answers = v.strictObject({
  model: withDefault(
    v.picklist(['public', 'upstream']),
    'public',
    "Model name in responses: public (its identifier), or upstream (the provider's name).",
  ),
  images: withDefault(
    v.picklist(IMAGE_ANSWERS),
    'task',
    'Answer to image requests without response_format: task (at once), or images as OpenAI ' +
      'returns them (url, b64_json). A key can have another setting (oriel keys create ' +
      '--images).',
  ),
});

const billing = v.strictObject({
  trustUpstream: withDefault(
    v.boolean(),
    false,
    "Whether reported usage beyond the request's limits is charged. If false, the excess is " +
      "logged with the request's id and not charged.",
  ),
  maxOutputTokens: withDefault(
    integer(1),
    16_384,
    'Output limit sent to the provider if the client sets none, for models that have a price ' +
      'and no maxOutputTokens.',
  ),
  drainTimeout: withDefault(
    duration('0s', '1h'),
    '2m',
    'How long Oriel reads an answer after its client has left, or after an emulated end such ' +
      'as a stop sequence, because providers report the usage at the end. Without the report, ' +
      'reasoning and media are charged by their upper bound. 0s: abort at once.',
  ),
});

const callbacks = v.strictObject({
  secretOverlap: withDefault(
    duration('0s', '365d'),
    '24h',
    'How long callbacks are also signed with the old secret after a rotation.',
  ),
});

const responses = v.strictObject({
  retention: withDefault(
    duration('0s', '3650d'),
    '30d',
    'How long responses are kept for GET, previous_response_id and item references, unless a request sets store to ' +
      'false. With 0s none are kept.',
  ),
  conversationRetention: withDefault(
    duration('1s', '3650d'),
    '30d',
    'How long conversations are kept after the last request that has used them.',
  ),
  maxCount: withDefault(
    integer(0, 10_000_000),
    10_000,
    'Responses that an account may have; and as many conversations, and items of conversations. Above it, answers ' +
      'are not stored.',
  ),
  maxSize: withDefault(size('1MB', '1000TB'), '2GB', 'Their size, of an account.'),
});

const batches = v.strictObject({
  parallel: withDefault(
    integer(1, 10_000),
    16,
    'Requests of batches that a node sends to providers at once.',
    ONCE,
  ),
  expiry: withDefault(
    duration('1s', '30d'),
    '24h',
    'How long a batch may run. Requests that have not run by then are reported as expired.',
  ),
});

const batch = v.strictObject({
  concurrency: withDefault(integer(1, 10_000), 16, 'Batches processed at once.', ONCE),
  queue: withDefault(
    integer(0, 100_000),
    64,
    'Batches that may wait; an account may have about a third of them. Further batches get 503.',
    ONCE,
  ),
  memory: withDefault(
    size('1MB', '1TB'),
    '256MB',
    'Memory for finished results that wait to be sent, over all batches.',
    ONCE,
  ),
  spool: withDefault(
    size('100MB', '1000TB'),
    '2GB',
    'Disk space for uploads, over all batches; an account may have about two thirds of it.',
    ONCE,
  ),
  deadline: withDefault(
    duration('1ms', '24h'),
    `${DEFAULT_LIMITS.deadline / 1000}s`,
    'Time limit for an image.',
  ),
  pixels: withDefault(
    integer(1, 10_000_000_000),
    DEFAULT_LIMITS.pixels,
    'Most pixels of an image, over all decoded frames.',
  ),
  frames: withDefault(
    integer(1, 100_000),
    DEFAULT_LIMITS.frames,
    'Most frames of an image, if all are decoded.',
  ),
  side: withDefault(
    integer(1, 65_535),
    DEFAULT_LIMITS.side,
    'Longest side of an output in pixels.',
  ),
  svg: withDefault(
    v.boolean(),
    DEFAULT_LIMITS.svg,
    'Whether SVG is read. A small SVG file can take much work.',
  ),
  programs: withDefault(
    v.boolean(),
    true,
    'Whether installed programs read HEIC, JPEG XL, camera raw and PDF, and write JPEG XL.',
  ),
});

const overload = v.strictObject({
  bodies: withDefault(
    size('1MB', '1TB'),
    '256MB',
    'Memory for JSON bodies; an account may use a quarter of it.',
    ONCE,
  ),
  eventLoopDelay: withDefault(
    duration('10ms', '1h'),
    '1s',
    "Delay of the event loop above which requests get 503. Only the daemon's own work counts, not a busy machine.",
    ONCE,
  ),
  memory: optional(
    size('64MB', '1000TB'),
    "Memory of the process above which requests get 503. Unset: 85% of the container's or machine's memory.",
    { ...ONCE, example: '2GB' },
  ),
});

const log = v.strictObject({
  level: withDefault(
    v.picklist(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    'info',
    'Lowest level of messages that are written: fatal, error, warn, info, debug, trace, or silent for none.',
    ONCE,
  ),
  format: withDefault(
    v.picklist(['auto', 'pretty', 'json']),
    'auto',
    'Format of the messages: pretty, json, or auto, which is pretty on a terminal and json elsewhere.',
    ONCE,
  ),
  file: optional(
    text(),
    'File for the log, as lines of JSON, instead of standard output; relative to the file that sets it. ' +
      'Warnings and errors are on standard error as well. SIGHUP opens the file again.',
    { ...ONCE, example: '/var/log/oriel/oriel.log' },
  ),
  maxSize: withDefault(
    size('1KB', '1TB'),
    '100MB',
    'Size after which the log file is renamed to FILE.1, the former FILE.1 to FILE.2 and so on.',
    ONCE,
  ),
  maxAge: withDefault(
    duration('1s', '3650d'),
    '7d',
    'Age after which the log file is renamed, at the next message.',
    ONCE,
  ),
  keep: withDefault(integer(0, 1000), 10, 'Renamed log files that are kept.', ONCE),
});

const metrics = v.strictObject({
  enabled: withDefault(v.boolean(), true, 'Whether /metrics is served.', ONCE),
  token: optional(
    text(),
    'Bearer token that /metrics requires. Unset: only the listener server.operations serves /metrics.',
    { secret: 'always', example: `\${METRICS_TOKEN}` },
  ),
});

const cassettes = v.strictObject({
  mode: withDefault(
    v.picklist(['off', 'record', 'replay', 'record-missing']),
    'off',
    'record keeps each exchange with a provider in a file, replay answers from these files without ' +
      'a network, and record-missing records only what has no file.',
    ONCE,
  ),
  dir: withDefault(
    text(),
    './cassettes',
    'Folder of the files; relative to the file that sets it.',
    ONCE,
  ),
  timing: withDefault(
    v.boolean(),
    false,
    'Whether replayed answers take as long as they did. If false, they come at once.',
    ONCE,
  ),
  used: optional(
    text(),
    'File to which the names of used cassettes are added at the end, for oriel cassettes prune.',
    { ...ONCE, example: './used.txt' },
  ),
});

const owner = v.strictObject({
  credits: withDefault(credits(), 1000, 'Credits of the account.'),
});

/** The whole configuration: its input is a file, its output the loaded settings. */
export const configSchema = v.strictObject({
  server: section(server, 'The listener for clients.'),
  dataDir: withDefault(
    text(),
    './data',
    'Data folder with accounts, keys, tasks and files; relative to the file that sets it.',
    ONCE,
  ),
  secretKeyFile: optional(
    text(),
    'File of the key that encrypts the API keys of providers in the store; relative to the file that sets it. ' +
      'Several nodes share one. Unset: ORIEL_SECRET_KEY_FILE of the environment, or else secret.key in the data folder.',
    { ...ONCE, example: '/etc/oriel/secret.key' },
  ),
  store: section(store, 'The store of accounts, keys, credits and tasks.'),
  assets: section(assets, 'The storage of files that tasks make and clients upload.'),
  backup: section(backup, 'Backups of the data folder that the daemon makes.'),
  pool: section(pool, 'The processes and threads that process images.'),
  routing: section(routing, 'How Oriel retries and chooses between the routes of a model.'),
  answers: section(answers, 'Form of responses.'),
  billing: section(
    billing,
    'Charges of text requests. Until it ends, a request reserves the highest sum that it can ' +
      'cost: its size in bytes as input tokens, and n times its output limit.',
  ),
  network: section(network, 'Destinations to which the daemon may connect for a client.'),
  callbacks: section(callbacks, 'Callbacks for ended tasks.'),
  limits: section(limits, 'Limits of accounts, and retention.'),
  requests: section(requests, 'The log of requests, which the console shows.'),
  responses: section(responses, 'Stored responses and conversations.'),
  sockets: section(sockets, 'WebSockets of responses: GET /v1/responses.'),
  batch: section(
    batch,
    'Batches of images. Each file may have 30 MiB, each request 100 MiB and 20 files.',
  ),
  images: section(images, 'Images by URL: GET /img/SIGNATURE/STEPS/SOURCE, for web sites.'),
  batches: section(
    batches,
    'Batches of requests for text and embeddings. Their requests give way to those that a client waits for, ' +
      'and use at most half of the limits of a key (tpm, parallel).',
  ),
  overload: section(
    overload,
    'When new requests are refused so that requests in progress can finish. When memory or ' +
      'time runs short, the daemon refuses, in this order: new connections, large bodies, ' +
      'requests of the account that has most in progress (429), requests of all accounts (503). ' +
      "/healthz, /readyz and /metrics always answer. Both V8's heap limit (node " +
      "--max-old-space-size) and the process's memory count.",
  ),
  log: section(log, 'The log. Keys never appear in it.'),
  metrics: section(metrics, 'Metrics for Prometheus, at /metrics.'),
  telemetry: section(telemetry, 'Traces and metrics for a collector.'),
  alerts: section(
    alerts,
    'Alerts for the operator: budgets, routes, providers, errors, disk, memory and nodes. Each is raised once in a ' +
      'window by all nodes together.',
  ),
  cassettes: section(cassettes, 'Recordings of providers for tests.'),
  owner: section(owner, 'The account that the first start on an empty data folder creates.'),
  providers: section(
    v.record(identifier(), providerSchema),
    'Providers of models, by a name of your choice. Without providers and models, a sandbox ' +
      'takes their place. Its models make up their answers and need no account.',
  ),
  models: section(
    models,
    'Models for clients, by public identifier. Prices are credits; a model without a price is ' +
      'free. An identifier such as claude-* offers all matching names. Exact models and aliases ' +
      'win over it, and longer patterns over shorter ones.',
  ),
});

/** The loaded settings: durations in milliseconds, sizes in bytes, credits in whole micro-credits. */
export type Config = DeepReadonly<v.InferOutput<typeof configSchema>>;
export type Provider = Config['providers'][string];
export type Model = Config['models'][string];
