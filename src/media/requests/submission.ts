import type { AssetStorage } from '../../assets/storage/asset-storage.ts';
import { findModel } from '../../config/catalog/catalog.ts';
import type { Config, Model } from '../../config/settings/schema.ts';
import { Failure } from '../../failure.ts';
import { clientPool, type ImagePool, MAX_WAITING } from '../../operations/pool/pool.ts';
import { screenPrompt } from '../../safety/prompt-screening.ts';
import { quoteValue } from '../../schema/fields.ts';
import type { NewAsset } from '../../store/asset.ts';
import type { Store } from '../../store/store.ts';
import type { NewTask, Task } from '../../store/task.ts';
import type { TextThreads } from '../../threads/text-threads.ts';
import { networkPolicyOf } from '../../upstream/network-policy.ts';
import { checkPublicUrl } from '../../upstream/public-url.ts';
import { acceptInput, expectedDiskSpace } from '../files/inputs.ts';
import { MAX_IMAGE_BYTES, storeImage } from '../files/stored-image.ts';
import { imageLimits } from '../files/verified-image.ts';
import type { MediaCall, MediaKind } from '../task/call.ts';
import { fieldWithoutRoute } from '../task/image-options.ts';
import {
  type AudioTaskRequest,
  type InputReference,
  priceOf,
  type TaskRequest,
  voiceName,
} from '../task/task-request.ts';
import { readAudioRequest } from './audio.ts';
import { readEditRequest } from './edit.ts';
import type { ValidatedRequest } from './fields.ts';
import { fingerprint } from './fingerprint.ts';
import { readImageRequest } from './image.ts';
import { modelIdOf } from './model.ts';
import { readSpeechRequest } from './speech.ts';
import { readVideoRequest } from './video.ts';

interface SubmissionOptions {
  readonly config: Config;
  readonly store: Store;
  readonly files: AssetStorage;
  readonly pool: ImagePool;
  readonly textThreads: TextThreads;
}

type Reader = (fields: MediaCall['fields'], model: Model) => ValidatedRequest;

const READERS: Readonly<Record<MediaKind, Reader>> = {
  image: readImageRequest,
  edit: readEditRequest,
  video: readVideoRequest,
  audio: readAudioRequest,
  speech: readSpeechRequest,
};

interface Inputs {
  readonly inputs: readonly InputReference[];
  readonly mask: InputReference | null;
}

/**
 * Creates a task from a request. The request is validated and its prompt screened before any file is
 * written; files of a request that creates no task are discarded.
 *
 * @throws Failure
 */
export async function submitTask(call: MediaCall, options: SubmissionOptions): Promise<Task> {
  const { config, store, files } = options;
  const { holder, fields } = call;
  const context = { client: holder.account.id, maxWaiting: MAX_WAITING };
  const pool = clientPool(options.pool, context);
  const name = modelIdOf(fields);
  const idempotency = await idempotencyOf(call);
  const repeated =
    idempotency && (await store.findTaskByIdempotencyKey(holder.account.id, idempotency));
  // Also where a reload has removed the model or changed what it accepts: the task was accepted before.
  if (repeated) return repeated;
  const { id, part, model } = findModel(config, name, holder.key.models);
  const validated = READERS[call.kind](fields, model);
  checkRoutes(validated, fields, model, config);
  const promptName = validated.fieldNames?.['prompt'] ?? 'prompt';
  const threads = options.textThreads.forClient(holder.account.id);
  await screenPrompt(threads, screenedText(validated.request), promptName);
  const networkPolicy = networkPolicyOf(config.network);
  const callbackUrl =
    validated.callbackUrl === null
      ? null
      : checkPublicUrl(validated.callbackUrl, 'callback_url', networkPolicy, 'callback').href;
  await files.checkFreeSpace(expectedDiskSpace(validated.request));
  const stored: NewAsset[] = [];
  const discardStored = () => files.discard(stored.map((asset) => asset.id));
  try {
    const inputs = await storeInputs(call, validated, stored, { ...options, pool });
    const named = part === null ? validated.request : { ...validated.request, wildcardPart: part };
    const request = withInputs(named, inputs);
    const task: NewTask = {
      accountId: holder.account.id,
      keyId: holder.key.id,
      type: request.type,
      model: id,
      request,
      callbackUrl,
      deadline: store.now + config.limits.taskDeadline,
      idempotency,
      ...(call.traceparent !== undefined && { traceparent: call.traceparent }),
      reservation: priceOf(request, model),
      maxOpenTasks: config.limits[holder.account.plan].tasks,
      assets: stored,
      storageQuota: config.limits[holder.account.plan].uploads,
    };
    const result = await store.createTask(task);
    // The task of an earlier request has files of its own.
    if (!result.created) await discardStored();
    return result.task;
  } catch (error) {
    await discardStored();
    throw error;
  }
}

/** All text that a provider may read: the prompt, and the free-form size, or voice and instructions. */
function screenedText(request: TaskRequest): string {
  const more = request.type === 'audio' ? spokenTexts(request) : [request.size];
  return [request.prompt, ...more].filter((text) => text != null).join('\n');
}

function spokenTexts({ voice, instructions }: AudioTaskRequest) {
  return [voice && voiceName(voice), instructions];
}

/** @throws Failure invalid_request where no route of the model has every field of the request */
function checkRoutes(
  { request, fieldNames }: ValidatedRequest,
  fields: MediaCall['fields'],
  { routes }: Model,
  { providers }: Config,
): void {
  const missing = routes.map((route) => fieldWithoutRoute(request, route, providers));
  const [field] = missing;
  if (field == null || missing.includes(null)) return;
  const name = fieldNames?.[field] ?? field;
  throw new Failure(
    'invalid_request',
    `${name}: no upstream of the model ${modelIdOf(fields)} supports the value ${quoteValue(fields[name])}; leave it out`,
    { param: name, code: 'not_supported_by_model' },
  );
}

async function idempotencyOf({
  kind,
  fields,
  images = [],
  mask,
  idempotencyKey,
}: MediaCall): Promise<NewTask['idempotency']> {
  if (idempotencyKey === null) return null;
  const files = [...images, ...(mask ? [mask] : [])].map(({ path }) => path);
  // The number of images distinguishes a last image from a mask.
  const content = { fields, images: images.length };
  return { key: idempotencyKey, fingerprint: await fingerprint(kind, content, files) };
}

/** @param stored gets each file as soon as it is written, so that the caller can discard it */
async function storeInputs(
  { images = [], mask, publicUrl }: MediaCall,
  { inputImages }: ValidatedRequest,
  stored: NewAsset[],
  { config, store, files, pool }: SubmissionOptions,
): Promise<Inputs> {
  const limits = imageLimits(config.batch, MAX_IMAGE_BYTES);
  const options = { files, pool, limits };
  const inputs: InputReference[] = [];
  let first: { readonly width: number; readonly height: number } | undefined;
  for (const [index, file] of images.entries()) {
    const param = images.length === 1 ? 'image' : `image[${index}]`;
    const { asset, image } = await storeImage(file, param, options);
    stored.push(asset);
    inputs.push({ asset: asset.id });
    first ??= image;
  }
  for (const [index, text] of inputImages.entries()) {
    const accepted = await acceptInput(text, `input_images[${index}]`, {
      ...options,
      store,
      publicUrl,
      networkPolicy: networkPolicyOf(config.network),
    });
    if (accepted.asset) stored.push(accepted.asset);
    inputs.push(accepted.reference);
  }
  if (!mask) return { inputs, mask: null };
  const { asset, image } = await storeImage(mask, 'mask', options);
  stored.push(asset);
  if (image.format !== 'png' || !image.hasAlpha) {
    throw invalidMask(
      `expected a PNG with an alpha channel, received ${image.format}${image.hasAlpha ? '' : ' without one'}`,
    );
  }
  if (first && (image.width !== first.width || image.height !== first.height)) {
    const sizeText = (size: { width: number; height: number }) => `${size.width}x${size.height}`;
    throw invalidMask(
      `expected the size of the first image, ${sizeText(first)}, received ${sizeText(image)}`,
    );
  }
  return { inputs, mask: { asset: asset.id } };
}

function invalidMask(message: string): Failure {
  return new Failure('invalid_request', `mask: ${message}`, { param: 'mask' });
}

function withInputs(request: TaskRequest, { inputs, mask }: Inputs): TaskRequest {
  switch (request.type) {
    case 'image':
      return { ...request, inputs, mask };
    case 'video':
      return { ...request, inputs };
    case 'audio':
      return request;
  }
}
