import type * as v from 'valibot';
import { Failure } from '../../failure.ts';
import { printable } from '../../operations/batch/filename.ts';
import { matchesPattern, WILDCARD } from '../../schema/pattern.ts';
import { usageFailure } from '../command/command.ts';
import { readFlags } from '../command/flags.ts';
import { jsonText, print } from '../terminal/terminal.ts';
import { type CatalogEntry, readCatalog } from './catalog.ts';
import { readInput } from './chat-input.ts';
import { generateFlags, resultFlags, waitFlags } from './client-flags.ts';
import type { DaemonClient } from './daemon-client.ts';
import { finishTask } from './finish-task.ts';
import { stemOf } from './result-names.ts';
import { Results } from './results.ts';
import { inSession } from './session.ts';
import { readSubmission } from './task-record.ts';
import { uploadFile } from './upload.ts';

type GenerateFlags = v.InferOutput<typeof generateFlags>;

/** Endpoint by the type of the model. */
const ENDPOINTS: Readonly<Record<string, string>> = {
  image: '/v1/images/generations',
  video: '/v1/videos/generations',
  audio: '/v1/audio/generations',
};

/**
 * Generates an image, a video or audio and saves it.
 *
 * @param flags as commander parsed them
 * @returns the exit code
 * @throws Failure
 */
export async function runGenerate(
  prompt: string | undefined,
  flags: Readonly<Record<string, unknown>>,
): Promise<number> {
  const options = readFlags(generateFlags, flags);
  const results = readFlags(resultFlags, flags);
  const { wait } = readFlags(waitFlags, flags);
  if (!wait && results.out !== undefined) {
    throw usageFailure('--no-wait and --out exclude each other');
  }
  const text = await promptOf(prompt);
  return inSession(flags, async (session) => {
    const { client } = session;
    const { id: model, type } = await modelFor(client, options.model);
    const saved = new Results(client, results, stemOf(text, type), wait ? (options.n ?? 1) : 0);
    const inputs = await uploadInputs(client, options.input ?? []);
    const submission = readSubmission(
      await client.json(ENDPOINTS[type]!, bodyFor(options, { model, prompt: text, inputs }), {
        prefer: 'respond-async',
        ...(options.idempotencyKey !== undefined && { 'idempotency-key': options.idempotencyKey }),
      }),
    );
    if (submission === null) {
      throw new Failure('service_error', `${client.url}: expected a task in the response`);
    }
    if (!wait) {
      const { document, id } = submission;
      await print(`${results.json ? jsonText(document) : printable(id)}\n`);
      return 0;
    }
    return finishTask(session, submission, saved, results);
  });
}

/**
 * Reads the prompt: the argument, or standard input where the argument is `-` or missing.
 *
 * @throws Failure with code `usage`
 */
export async function promptOf(prompt: string | undefined): Promise<string> {
  const isPiped = prompt === '-' || (prompt === undefined && !process.stdin.isTTY);
  const text = (isPiped ? await readInput('-') : prompt)?.trim() ?? '';
  if (text === '') throw usageFailure('a prompt is required');
  return text;
}

/**
 * Finds a model that makes images, video or audio; by default the first one of images.
 *
 * @throws Failure where the daemon has no such model
 */
export async function modelFor(
  client: DaemonClient,
  wanted: string | undefined,
): Promise<CatalogEntry> {
  const { models } = await readCatalog(client);
  const model =
    wanted === undefined
      ? models.find(({ id, type }) => type === 'image' && !id.includes(WILDCARD))
      : named(models, wanted);
  if (!model) {
    const what = wanted === undefined ? 'image model' : `model ${JSON.stringify(wanted)}`;
    throw new Failure(
      'invalid_request',
      `${client.url} has no ${what} for this key; \`oriel models\` lists what it has`,
    );
  }
  if (ENDPOINTS[model.type] === undefined) {
    const advice = model.type === 'text' ? '; `oriel chat` talks to it' : '';
    throw new Failure(
      'invalid_request',
      `${model.id} is a ${model.type || 'strange'} model and makes no image, video or audio${advice}`,
    );
  }
  return wanted === undefined ? model : { ...model, id: wanted };
}

/** The model with an identifier or an alias, or else the one with the longest wildcard for it. */
function named(models: readonly CatalogEntry[], name: string): CatalogEntry | undefined {
  const matching = models.filter(({ id }) => id.includes(WILDCARD) && matchesPattern(id, name));
  const [longest] = matching.sort((one, other) => other.id.length - one.id.length);
  return models.find(({ id, aliases }) => id === name || aliases.includes(name)) ?? longest;
}

/** Uploads reference images that are files; returns the URLs of all. */
async function uploadInputs(client: DaemonClient, inputs: readonly string[]): Promise<string[]> {
  const urls = [];
  for (const input of inputs) {
    const isUrl = /^(https?:\/\/|data:)/i.test(input);
    urls.push(isUrl ? input : await uploadFile(client, input));
  }
  return urls;
}

function bodyFor(
  { size, quality, n, seed, duration, voice, format, callbackUrl }: GenerateFlags,
  { model, prompt, inputs }: { model: string; prompt: string; inputs: readonly string[] },
): object {
  const optional = {
    size,
    quality,
    n,
    seed,
    duration,
    voice,
    format,
    callback_url: callbackUrl,
    input_images: inputs.length > 0 ? inputs : undefined,
  };
  // JSON leaves out undefined properties.
  return { model, prompt, ...optional };
}
