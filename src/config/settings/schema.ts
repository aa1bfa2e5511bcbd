import * as v from 'valibot';
import { DEFAULT_LIMITS } from '../../images/limits.ts';
import { integer, optional, section, withDefault } from '../../schema/fields.ts';
import type { DeepReadonly } from '../../schema/json.ts';
import { IMAGE_ANSWERS } from '../../store/account.ts';
import { identifier, ONCE, text } from '../fields/text.ts';
import { credits, duration, size } from '../fields/units.ts';
import { providerSchema } from '../providers/provider-kinds.ts';
import { assets } from './assets.ts';
import { limits } from './limits.ts';
import { models } from './models.ts';
import { network } from './network.ts';
import { routing } from './routing.ts';
import { server } from './server.ts';
import { store } from './store.ts';
import { telemetry } from './telemetry.ts';

const pool = v.strictObject({
  threads: optional(
    integer(1, 256),
    'Images processed at once. Unset: as many as the machine has cores.',
    {
      ...ONCE,
      example: 4,
    },
  ),
  memory: optional(
    size('64MB', '1000TB'),
    'Memory of all large images in progress, by estimates that are enforced on Linux; an image that needs ' +
      'more by itself is refused. Unset: half of what the container or machine has beyond 512 MB, at ' +
      'least 256 MB.',
    { ...ONCE, example: '2GB' },
  ),
});

const answers = v.strictObject({
  model: withDefault(
    v.picklist(['public', 'upstream']),
    'public',
    'The model that responses name: the public identifier, or the name that the provider uses (upstream).',
  ),
  images: withDefault(
    v.picklist(IMAGE_ANSWERS),
    'task',
    'What image requests without response_format get: the task at once, as this interface has it, or the ' +
      "images in OpenAI's shape, as url or b64_json. Keys can differ (oriel keys create --images).",
  ),
});

const billing = v.strictObject({
  trustUpstream: withDefault(
    v.boolean(),
    false,
    'Whether reported usage beyond the limits of the request is charged. Otherwise the excess is not ' +
      "charged, and is logged with the request's id.",
  ),
  maxOutputTokens: withDefault(
    integer(1),
    16_384,
    'Output limit sent to the provider for a model that has a price and no maxOutputTokens, if the client ' +
      'sets none.',
  ),
  drainTimeout: withDefault(
    duration('0s', '1h'),
    '2m',
    'How long an answer is read on after its client has left, or after an emulated end such as a stop sequence, ' +
      'since providers report the usage at its end. Without the report, reasoning and media are charged by their upper bound. 0s: abort at once.',
  ),
});

const callbacks = v.strictObject({
  secretOverlap: withDefault(
    duration('0s', '365d'),
    '24h',
    'How long callbacks are also signed with the former secret after a rotation.',
  ),
});

const batch = v.strictObject({
  concurrency: withDefault(integer(1, 10_000), 16, 'Batches processed at once.', ONCE),
  queue: withDefault(
    integer(0, 100_000),
    64,
    'Batches that wait beyond those, of one account about a third; further ones get 503.',
    ONCE,
  ),
  memory: withDefault(
    size('1MB', '1TB'),
    '256MB',
    'Finished results that wait in memory to be sent, of all batches together.',
    ONCE,
  ),
  spool: withDefault(
    size('100MB', '1000TB'),
    '2GB',
    'Uploads kept on disk at once, of all batches together.',
    ONCE,
  ),
  deadline: withDefault(
    duration('1ms', '24h'),
    `${DEFAULT_LIMITS.deadline / 1000}s`,
    'How long one image may take.',
  ),
  pixels: withDefault(
    integer(1, 10_000_000_000),
    DEFAULT_LIMITS.pixels,
    'Pixels of one image, of all frames that are decoded together.',
  ),
  frames: withDefault(
    integer(1, 100_000),
    DEFAULT_LIMITS.frames,
    'Frames of one image, if all of them are decoded.',
  ),
  side: withDefault(integer(1, 65_535), DEFAULT_LIMITS.side, 'Pixels along one side of an output.'),
  svg: withDefault(
    v.boolean(),
    DEFAULT_LIMITS.svg,
    'Whether SVG is read. It is markup, so that a small file can take much work.',
  ),
});

const overload = v.strictObject({
  bodies: withDefault(
    size('1MB', '1TB'),
    '256MB',
    'JSON bodies in memory at once; one account may have a quarter of it.',
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
    "Memory of the process above which requests get 503. Unset: 85% of the container's or machine's.",
    { ...ONCE, example: '2GB' },
  ),
});

const log = v.strictObject({
  level: withDefault(
    v.picklist(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    'info',
    'The lowest level of messages to write: fatal, error, warn, info, debug, trace, or silent for none.',
    ONCE,
  ),
  format: withDefault(
    v.picklist(['auto', 'pretty', 'json']),
    'auto',
    'Format of the messages: pretty, json, or auto, which is pretty on a terminal and json elsewhere.',
    ONCE,
  ),
});

const metrics = v.strictObject({
  enabled: withDefault(v.boolean(), true, 'Whether /metrics is served.', ONCE),
  token: optional(
    text(),
    'The bearer token that /metrics requires. Unset: only the listener server.operations serves it.',
    { secret: 'always', example: `\${METRICS_TOKEN}` },
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
    'Where accounts, keys, tasks and files are kept; relative to the file that sets it.',
    ONCE,
  ),
  store: section(store, 'The store of accounts, keys, credits and tasks.'),
  assets: section(assets, 'The storage of files that tasks make and clients upload.'),
  pool: section(pool, 'The processes and threads that process images.'),
  routing: section(routing, 'How routes are tried if a model has several, or one that fails.'),
  answers: section(answers, 'The form of responses.'),
  billing: section(
    billing,
    'Charges of text requests. A request holds the largest sum that it can cost until it ends: its size ' +
      'in bytes as tokens of input, and n times its output limit.',
  ),
  network: section(network, 'Where the server may connect to for a client.'),
  callbacks: section(callbacks, 'Notifications of clients about ended tasks.'),
  limits: section(limits, 'Limits of accounts, and how long things take.'),
  batch: section(
    batch,
    'Batches of images. Each file may have 30 MiB, each request 100 MiB and 20 files.',
  ),
  overload: section(
    overload,
    'When new requests are refused so that those in progress can finish. As memory or time runs short, ' +
      'the server refuses, in this order, new connections; large bodies; requests of the account that ' +
      'has most in progress (429); requests of all accounts (503). /healthz, /readyz and /metrics always ' +
      "answer. V8's heap limit (node --max-old-space-size) counts as well as the memory of the process.",
  ),
  log: section(log, 'The log. Keys never appear in it.'),
  metrics: section(metrics, 'Metrics for Prometheus, at /metrics.'),
  telemetry: section(telemetry, 'Traces and metrics for a collector.'),
  owner: section(owner, 'The account that the first start on an empty data folder creates.'),
  providers: section(
    v.record(identifier(), providerSchema),
    'Providers of models, by a name of your choice. Without providers and models of your own, a sandbox ' +
      'replaces both: models that make up their answers, and that need no account anywhere.',
  ),
  models: section(
    models,
    'Models for clients, by public identifier. Prices are credits; a model without a price is free. An ' +
      'identifier such as claude-* offers all names that match it, the longest match ' +
      'first, after the models and aliases that have the very name.',
  ),
});

/** The loaded settings: durations in milliseconds, sizes in bytes, credits in whole micro-credits. */
export type Config = DeepReadonly<v.InferOutput<typeof configSchema>>;
export type Provider = Config['providers'][string];
export type Model = Config['models'][string];
