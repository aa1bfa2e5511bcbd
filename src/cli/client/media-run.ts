import { Failure } from '../../failure.ts';
import { printable } from '../../operations/batch/filename.ts';
import { objectOf } from '../../schema/untrusted.ts';
import { type CommandInput, readFlags, usageFailure } from '../command/command.ts';
import { Spinner } from '../terminal/progress.ts';
import { print, printJson } from '../terminal/terminal.ts';
import { type CatalogEntry, readCatalog, requireModel } from './catalog.ts';
import { editFlags, generateFlags, resultFlags, waitFlags } from './client-flags.ts';
import type { DaemonClient } from './daemon-client.ts';
import { readPrompt } from './prompt.ts';
import { Results, stemOf } from './results.ts';
import { inSession } from './session.ts';
import { finishTask, outputsOf, readSubmission } from './task.ts';
import { fileOf, uploadFile } from './upload.ts';

/** Endpoint by the type of the model. */
const ENDPOINTS: Readonly<Record<string, string>> = {
  image: '/v1/images/generations',
  video: '/v1/videos/generations',
  audio: '/v1/audio/generations',
};

const EDITS = '/v1/images/edits';

/** Generates an image, a video or audio and saves it. */
export async function runGenerate({ positionals: [given], flags }: CommandInput): Promise<number> {
  const options = readFlags(generateFlags, flags);
  const resultOptions = readFlags(resultFlags, flags);
  const { wait } = readFlags(waitFlags, flags);
  if (!wait && resultOptions.out !== undefined) {
    throw usageFailure('--no-wait and --out cannot be combined');
  }
  const prompt = await readPrompt(given as string | undefined);
  return inSession(flags, async (session) => {
    const { client } = session;
    const { id: model, type } = await modelFor(client, options.model);
    const count = wait ? (options.n ?? 1) : 0;
    const results = new Results(client, resultOptions, stemOf(prompt, type), count);
    const { input = [], callbackUrl, idempotencyKey, ...parameters } = options;
    const inputs = await uploadInputs(client, input);
    const body = {
      ...{ ...parameters, model, prompt, callback_url: callbackUrl },
      ...(inputs.length > 0 && { input_images: inputs }),
    };
    const response = await client.json(ENDPOINTS[type]!, body, headersFor(idempotencyKey));
    const submission = readSubmission(response);
    if (submission === null) {
      throw new Failure('service_error', `${client.url}: expected a task in the response`);
    }
    if (wait) return finishTask(session, submission, results, resultOptions);
    const { document, id } = submission;
    if (resultOptions.json) await printJson(document);
    else await print(`${printable(id)}\n`);
    return 0;
  });
}

/**
 * Edits images and saves the result. The daemon responds with the result, or with a task if that
 * takes longer than `limits.syncWait`.
 */
export async function runEdit({ positionals, flags }: CommandInput): Promise<number> {
  const images = positionals[0] as readonly string[];
  const options = readFlags(editFlags, flags);
  const resultOptions = readFlags(resultFlags, flags);
  const prompt = await readPrompt(options.prompt);
  return inSession(flags, async (session) => {
    const { client } = session;
    const { id: model } = await modelFor(client, options.model);
    const { size, quality, n, seed, mask, idempotencyKey } = options;
    const results = new Results(client, resultOptions, stemOf(prompt, 'image'), n ?? 1);
    const form = new FormData();
    for (const [name, value] of Object.entries({ model, prompt, size, quality, n, seed })) {
      if (value !== undefined) form.set(name, String(value));
    }
    const name = images.length > 1 ? 'image[]' : 'image';
    for (const image of images) form.append(name, await fileOf(image));
    if (mask !== undefined) form.set('mask', await fileOf(mask));

    const spinner = new Spinner(!resultOptions.quiet);
    spinner.show(model);
    results.prepare();
    // If the response is lost, its task is still in the list of tasks.
    session.resumeHint = '`oriel tasks` lists its task';
    const answer = await client
      .form(EDITS, form, headersFor(idempotencyKey))
      .catch((error: unknown) => {
        const isLost = error instanceof Failure && error.code === 'connection_lost';
        if (!isLost && !session.signal.aborted) session.resumeHint = null;
        throw error;
      })
      .finally(() => spinner.stop());
    const submission = readSubmission(answer);
    if (submission !== null) return finishTask(session, submission, results, resultOptions);
    const document = objectOf(answer);
    const saved = await results.save(outputsOf(document));
    session.resumeHint = null;
    if (resultOptions.json) await printJson({ ...document, saved });
    return 0;
  });
}

function headersFor(idempotencyKey: string | undefined): Readonly<Record<string, string>> {
  return {
    prefer: 'respond-async',
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  };
}

/**
 * Finds a model that makes images, video or audio; by default the first one of images.
 *
 * @throws Failure if the daemon has no such model
 */
async function modelFor(client: DaemonClient, wanted: string | undefined): Promise<CatalogEntry> {
  const model =
    wanted === undefined
      ? (await readCatalog(client)).models.find(({ type }) => type === 'image')
      : await requireModel(client, wanted);
  if (!model) {
    const message = `${client.url} has no image model for this key; \`oriel models\` lists its models`;
    throw new Failure('invalid_request', message);
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

/** Uploads reference images that are files; returns the URLs of all. */
async function uploadInputs(client: DaemonClient, inputs: readonly string[]): Promise<string[]> {
  const urls = [];
  for (const input of inputs) {
    const isUrl = /^(https?:\/\/|data:)/i.test(input);
    urls.push(isUrl ? input : await uploadFile(client, input));
  }
  return urls;
}
