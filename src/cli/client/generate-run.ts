import type * as v from 'valibot';
import { Failure } from '../../failure.ts';
import { printable } from '../../operations/filename.ts';
import { readFlags } from '../flags.ts';
import { jsonText } from '../json.ts';
import { print } from '../terminal.ts';
import { usageFailure } from '../usage.ts';
import { type CatalogEntry, readCatalog } from './catalog.ts';
import { readInput } from './chat-input.ts';
import { generateFlags, resultFlags, waitFlags } from './client-flags.ts';
import type { DaemonClient } from './daemon-client.ts';
import { stemOf } from './result-names.ts';
import { Results } from './results.ts';
import { uploadFile } from './sent-file.ts';
import { inSession } from './session.ts';
import { finishTask } from './task-end.ts';
import { readSubmission } from './task-record.ts';

type GenerateFlags = v.InferOutput<typeof generateFlags>;

/** What makes what, by the type of the model. */
const ENDPOINTS: Readonly<Record<string, string>> = {
  image: '/v1/images/generations',
  video: '/v1/videos/generations',
  audio: '/v1/audio/generations',
};

/**
 * Has something made and saves it.
 *
 * @param flags what commander parsed
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
    const inputs = await uploaded(client, options.input ?? []);
    const submission = readSubmission(
      await client.json(ENDPOINTS[type]!, bodyFor(options, { model, prompt: text, inputs }), {
        ...(options.idempotencyKey !== undefined && { 'idempotency-key': options.idempotencyKey }),
      }),
    );
    if (submission === null) {
      throw new Failure('service_error', `${client.url} answered with what is no task`);
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
 * What is asked for: the argument, or what standard input brings where that is `-` or there is none.
 *
 * @throws Failure of wrong usage
 */
export async function promptOf(prompt: string | undefined): Promise<string> {
  const isPiped = prompt === '-' || (prompt === undefined && !process.stdin.isTTY);
  const text = (isPiped ? await readInput('-') : prompt)?.trim() ?? '';
  if (text === '') throw usageFailure('expected a prompt, received nothing');
  return text;
}

/** @throws Failure where the daemon has no model that makes anything, or not this one */
export async function modelFor(
  client: DaemonClient,
  wanted: string | undefined,
): Promise<CatalogEntry> {
  const { models } = await readCatalog(client);
  const model = models.find(({ id, type }) =>
    wanted === undefined ? type === 'image' : id === wanted,
  );
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
  return model;
}

/** The URLs of reference images; those that are files are uploaded. */
async function uploaded(client: DaemonClient, inputs: readonly string[]): Promise<string[]> {
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
  // What is undefined is not sent.
  return { model, prompt, ...optional };
}
