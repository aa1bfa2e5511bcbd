import { createHash } from 'node:crypto';
import { countOf, isObject, listOf, objectOf } from '../../schema/untrusted.ts';
import type { AudioWork, ImageWork, VideoWork } from '../work.ts';
import { moderate } from './moderations.ts';
import { formOf, type Part, type Sent } from './multipart.ts';
import { jobIdOf, type Pace, pace, watch } from './polling.ts';
import { imagesOf, productsAt } from './products.ts';
import type { InputFile, MediaProvider, Order, Production, Workshop } from './provider.ts';
import { type Json, jsonOf, type Remote, withRemote } from './remote.ts';
import { charged } from './unusable.ts';
import { usageOf } from './usage.ts';
import { wishesOf } from './wishes.ts';

/** Bytes of an answer, and of each image in it that comes as base64. */
const MOST_BYTES = 1024 * 1024;
const MOST_OF_IMAGE = 48 * 1024 * 1024;

/** Outputs of one video or audio task. */
const MOST_OUTPUTS = 10;

/** What is to be done for one order, and what its result is. */
interface Errand {
  readonly path: string;
  readonly sent: Sent;
  /** Bytes that its result may have. */
  readonly most: number;
  /** Throws where the result is none. */
  readonly read: (result: Json) => Production;
}

/** What is noted of an order. */
interface Noted {
  /** The task that is waited for; null where there is none yet. */
  readonly taskId: string | null;
  /** Tasks that failed: the same key would give the last of them again. */
  readonly failed: number;
}

/** Another gateway of this interface: takes tasks, and tells what became of them. */
export function orielProvider(looks: Pace = pace): MediaProvider {
  const run = (errand: (remote: Remote) => Errand, workshop: Workshop) =>
    withRemote(workshop, (remote) => fulfil(errand(remote), { remote, workshop, looks }));
  return {
    makeImages: (order, workshop) => {
      const give = order.work.edit ? editOf : generationOf;
      return run((remote) => give(order, workshop.model, remote), workshop);
    },
    makeVideo: (order, workshop) => run(() => videoOf(order, workshop.model), workshop),
    makeAudio: (order, workshop) => run(() => audioOf(order, workshop.model), workshop),
    moderate,
  };
}

interface Place {
  readonly remote: Remote;
  readonly workshop: Workshop;
  readonly looks: Pace;
}

async function fulfil(errand: Errand, place: Place): Promise<Production> {
  const { remote, workshop } = place;
  const { taskId, failed } = notedIn(workshop);
  if (taskId !== null) return waitFor(taskId, errand, place);
  // Sent twice under one key it is done once: a connection that is lost does no harm.
  const { body } = await remote.sendForJson({
    path: errand.path,
    sent: errand.sent,
    headers: { 'idempotency-key': keyOf(workshop, failed) },
    most: errand.most,
  });
  if (isObject(body['error'])) throw remote.told(null, body);
  const id = jobIdOf(body['task_id']);
  if (id === null) return read(errand, body);
  const noted: Noted = { taskId: id, failed };
  await workshop.note(noted);
  return waitFor(id, errand, place);
}

/** Hashed, since names of models may be of characters that no header takes, and of any length. */
function keyOf({ idempotencyKey }: Workshop, failed: number): string {
  return createHash('sha256').update(`${idempotencyKey} ${failed}`).digest('base64url');
}

function notedIn({ noted }: Workshop): Noted {
  const { taskId, failed } = objectOf(noted);
  return { taskId: jobIdOf(taskId), failed: countOf(failed) ?? 0 };
}

function waitFor(taskId: string, errand: Errand, place: Place): Promise<Production> {
  const { remote, workshop, looks } = place;
  const noted: Noted = { taskId: null, failed: notedIn(workshop).failed + 1 };
  return watch({
    remote,
    workshop,
    // Not the poll_url that was told: the key goes to the provider's own address alone.
    path: `/tasks/${encodeURIComponent(taskId)}`,
    pace: looks,
    most: errand.most,
    look: (record) => look(record, errand, remote),
    forget: () => workshop.note(noted),
  });
}

function look(record: Json, errand: Errand, remote: Remote): Production | null {
  switch (record['status']) {
    case 'completed':
      return read(errand, objectOf(record['result']));
    case 'failed':
      throw remote.told(null, { error: record['error'] });
    case 'expired':
      throw remote.told(null, { type: 'timeout' });
    default:
      return null;
  }
}

function read(errand: Errand, result: Json): Production {
  try {
    return errand.read(result);
  } catch (error) {
    throw charged(error);
  }
}

function generationOf(order: Order<ImageWork>, model: string, remote: Remote): Errand {
  const { work, inputs } = order;
  return {
    path: '/images/generations',
    sent: jsonOf({
      model,
      prompt: work.prompt,
      ...wishesOf(work),
      ...(work.seed !== null && { seed: work.seed }),
      ...imagesWith(inputs),
    }),
    most: order.work.n * MOST_OF_IMAGE,
    read: imagesIn(order, remote),
  };
}

function editOf(order: Order<ImageWork>, model: string, remote: Remote): Errand {
  const { work, inputs, mask } = order;
  const wishes = { ...wishesOf(work), ...(work.seed !== null && { seed: work.seed }) };
  return {
    path: '/images/edits',
    sent: formOf([
      ['model', model],
      ['prompt', work.prompt],
      ...Object.entries(wishes).map(([name, value]): Part => [name, String(value)]),
      ...inputs.map((input): Part => ['image', input]),
      ...(mask === null ? [] : [['mask', mask] as const]),
    ]),
    most: order.work.n * MOST_OF_IMAGE,
    read: imagesIn(order, remote),
  };
}

function imagesIn({ work }: Order<ImageWork>, { settings }: Remote): Errand['read'] {
  return (result) => imagesOf(result, { most: work.n, secret: settings.apiKey });
}

function videoOf({ work, inputs }: Order<VideoWork>, model: string): Errand {
  const { prompt, size, duration, seed, user } = work;
  return {
    path: '/videos/generations',
    sent: jsonOf({ model, ...said({ prompt, size, duration, seed, user }), ...imagesWith(inputs) }),
    most: MOST_BYTES,
    read: outputsIn('video_url'),
  };
}

function audioOf({ work }: Order<AudioWork>, model: string): Errand {
  const { prompt, voice, format, duration, seed, user } = work;
  return {
    path: '/audio/generations',
    sent: jsonOf({ model, ...said({ prompt, voice, format, duration, seed, user }) }),
    most: MOST_BYTES,
    read: outputsIn('audio_url'),
  };
}

/** The outputs of a video or audio result, the primary one first. */
function outputsIn(primary: 'video_url' | 'audio_url'): Errand['read'] {
  return (result) => ({
    products: productsAt(
      [result[primary], ...listOf(result['urls'])].filter((url) => url !== undefined),
      MOST_OUTPUTS,
    ),
    usage: usageOf(result['usage']),
  });
}

function said(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** As data: URLs, since ours may be at an address that the other gateway cannot reach. */
function imagesWith(inputs: readonly InputFile[]): Json {
  if (inputs.length === 0) return {};
  const urls = inputs.map(({ bytes, mediaType }) => {
    const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
    return `data:${mediaType};base64,${data}`;
  });
  return { input_images: urls };
}
