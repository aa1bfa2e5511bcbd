import { findModel } from '../../config/catalog.ts';
import type { Config, Model } from '../../config/schema.ts';
import { Failure } from '../../failure.ts';
import { clientPool, type ImagePool, MAX_WAITING } from '../../operations/pool.ts';
import type { NewAsset } from '../../store/asset.ts';
import type { AssetFiles } from '../../store/asset-files.ts';
import type { NewTask, Store } from '../../store/store.ts';
import type { Task } from '../../store/task.ts';
import { networkPolicyOf } from '../../upstream/network-policy.ts';
import { checkPublicUrl } from '../../upstream/public-url.ts';
import { admitInput } from '../files/inputs.ts';
import { keepImage, LARGEST_IMAGE } from '../files/kept-image.ts';
import { pictureLimits } from '../files/pictures.ts';
import { roomFor } from '../files/room.ts';
import { priceOf } from '../price.ts';
import { admitPrompt } from '../prompts.ts';
import type { Reference, Work } from '../work.ts';
import { readAudioRequest } from './audio.ts';
import type { MediaCall, MediaKind } from './call.ts';
import { readEditRequest } from './edit.ts';
import { fingerprint } from './fingerprint.ts';
import { readImageRequest } from './image.ts';
import { namedModel } from './model.ts';
import type { MediaRequest } from './request.ts';
import { readVideoRequest } from './video.ts';

interface SubmissionOptions {
  readonly config: Config;
  readonly store: Store;
  readonly files: AssetFiles;
  readonly pool: ImagePool;
}

type Reader = (fields: MediaCall['fields'], model: Model) => MediaRequest;

const READERS: Readonly<Record<MediaKind, Reader>> = {
  image: readImageRequest,
  edit: readEditRequest,
  video: readVideoRequest,
  audio: readAudioRequest,
};

/** What a work looks at, its files kept. */
interface Inputs {
  readonly inputs: readonly Reference[];
  readonly mask: Reference | null;
}

/**
 * Turns a request into a task on disk. Nothing is written before the request has been validated and its
 * prompt judged, and nothing stays where no task comes of it.
 *
 * @throws Failure
 */
export async function submitTask(call: MediaCall, options: SubmissionOptions): Promise<Task> {
  const { config, store, files } = options;
  const { holder, fields } = call;
  const context = { client: holder.account.id, maxWaiting: MAX_WAITING };
  const pool = clientPool(options.pool, context);
  const id = namedModel(fields);
  const model = findModel(config, id, holder.key.models);
  const request = READERS[call.kind](fields, model);
  await admitPrompt(pool, wordsOf(request.work), 'prompt');
  const network = networkPolicyOf(config.network);
  const callbackUrl =
    request.callbackUrl === null
      ? null
      : checkPublicUrl(request.callbackUrl, 'callback_url', network, 'callback').href;
  const idempotency = await idempotencyOf(call);
  const repeated =
    idempotency && (await store.findTaskByIdempotencyKey(holder.account.id, idempotency));
  if (repeated) return repeated;
  await files.checkFreeSpace(roomFor(request.work));
  const kept: NewAsset[] = [];
  const letGo = () => files.discard(kept.map((asset) => asset.id));
  try {
    const inputs = await keepInputs(call, request, kept, { ...options, pool });
    const work = workWith(request.work, inputs);
    const task: NewTask = {
      accountId: holder.account.id,
      keyId: holder.key.id,
      type: work.type,
      model: id,
      request: work,
      callbackUrl,
      deadline: Date.now() + config.limits.taskDeadline,
      idempotency,
      reservation: priceOf(work, model),
      maxOpenTasks: config.limits[holder.account.plan].tasks,
      assets: kept,
      storageQuota: config.limits[holder.account.plan].uploads,
    };
    const made = await store.createTask(task);
    // The files of the first time are kept; these are copies.
    if (!made.created) await letGo();
    return made.task;
  } catch (error) {
    await letGo();
    throw error;
  }
}

/** What a provider may read as words: the prompt, and the model's own word for a size or a voice. */
function wordsOf(work: Work): string {
  const word = work.type === 'audio' ? work.voice : work.size;
  return word === null ? work.prompt : `${work.prompt}\n${word}`;
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
  // How many are images tells an image from a mask.
  const told = { fields, images: images.length };
  return { key: idempotencyKey, fingerprint: await fingerprint(kind, told, files) };
}

/** @param kept gets each file as soon as it is there, so that it can be taken away again */
async function keepInputs(
  { images = [], mask, publicUrl }: MediaCall,
  { inputs: asked }: MediaRequest,
  kept: NewAsset[],
  { config, store, files, pool }: SubmissionOptions,
): Promise<Inputs> {
  const limits = pictureLimits(config.batch, LARGEST_IMAGE);
  const keeping = { files, pool, limits };
  const inputs: Reference[] = [];
  let first: { readonly width: number; readonly height: number } | undefined;
  for (const [index, image] of images.entries()) {
    const param = images.length === 1 ? 'image' : `image[${index}]`;
    const { asset, picture } = await keepImage(image, param, keeping);
    kept.push(asset);
    inputs.push({ asset: asset.id });
    first ??= picture;
  }
  for (const [index, text] of asked.entries()) {
    const admitted = await admitInput(text, `input_images[${index}]`, {
      ...keeping,
      store,
      publicUrl,
      network: networkPolicyOf(config.network),
    });
    if (admitted.asset) kept.push(admitted.asset);
    inputs.push(admitted.reference);
  }
  if (!mask) return { inputs, mask: null };
  const { asset, picture } = await keepImage(mask, 'mask', keeping);
  kept.push(asset);
  if (picture.format !== 'png' || !picture.hasAlpha) {
    throw maskFault(
      `expected a PNG with an alpha channel, received ${picture.format}${picture.hasAlpha ? '' : ' without one'}`,
    );
  }
  if (first && (picture.width !== first.width || picture.height !== first.height)) {
    const size = (one: { width: number; height: number }) => `${one.width}x${one.height}`;
    throw maskFault(
      `expected the size of the first image, ${size(first)}, received ${size(picture)}`,
    );
  }
  return { inputs, mask: { asset: asset.id } };
}

function maskFault(message: string): Failure {
  return new Failure('invalid_request', `mask: ${message}`, { param: 'mask' });
}

function workWith(work: Work, { inputs, mask }: Inputs): Work {
  switch (work.type) {
    case 'image':
      return { ...work, inputs, mask };
    case 'video':
      return { ...work, inputs };
    case 'audio':
      return work;
  }
}
