import { Failure } from '../../../failure.ts';
import { isObject, objectOf } from '../../../schema/untrusted.ts';
import type { VideoWork } from '../../work.ts';
import { formOf, type Part } from '../multipart.ts';
import { jobIdOf, type Pace, watch } from '../polling.ts';
import type { Order, Production, Workshop } from '../provider.ts';
import { type Json, type Remote, withRemote } from '../remote.ts';
import { charged, unusable } from '../unusable.ts';

const MOST_BYTES = 1024 * 1024;

/** Ratios for which the interface, which knows pixels alone, has a size. */
const SIZES = new Map([
  ['16:9', '1280x720'],
  ['9:16', '720x1280'],
]);

/** Has a video made: gives the job, and waits for it. A job that was noted is waited for again. */
export function makeVideo(
  order: Order<VideoWork>,
  workshop: Workshop,
  pace: Pace,
): Promise<Production> {
  return withRemote(workshop, async (remote) => {
    const id = jobIdOf(objectOf(workshop.noted)['id']) ?? (await submit(order, workshop, remote));
    const path = `/videos/${encodeURIComponent(id)}`;
    await watch({
      remote,
      workshop,
      path,
      pace,
      most: MOST_BYTES,
      look: (job) => look(job, remote),
      forget: () => workshop.note(null),
    });
    const url = `${remote.settings.baseUrl}${path}/content`;
    return { products: [{ url, headers: remote.credentials }], usage: null };
  });
}

async function submit(
  order: Order<VideoWork>,
  workshop: Workshop,
  remote: Remote,
): Promise<string> {
  const { body } = await remote.sendForJson({
    path: '/videos',
    sent: formOf(jobOf(order, workshop.model)),
    most: MOST_BYTES,
    charges: true,
  });
  const id = jobIdOf(body['id']);
  if (id === null) {
    throw isObject(body['error']) ? remote.told(null, body) : charged(unusable('no name of a job'));
  }
  try {
    await workshop.note({ id });
  } catch (error) {
    // The job is there; another try would be another one.
    throw charged(error);
  }
  return id;
}

function jobOf({ work, inputs }: Order<VideoWork>, model: string): readonly Part[] {
  if (inputs.length > 1) throw refused('input_images', 'this model takes one reference image');
  const size = sizeOf(work.size);
  return [
    ['model', model],
    ['prompt', work.prompt],
    ['seconds', String(work.duration)],
    ...(size === null ? [] : [['size', size] as const]),
    ...inputs.map((input): Part => ['input_reference', input]),
  ];
}

function sizeOf(size: string | null): string | null {
  if (size === null || size === 'auto') return null;
  const known = /^\d+x\d+$/.test(size) ? size : SIZES.get(size);
  if (known !== undefined) return known;
  throw refused('size', 'this model makes videos of 16:9, 9:16 or WIDTHxHEIGHT pixels');
}

function refused(param: string, why: string): Failure {
  return new Failure('invalid_request', `${param}: ${why}`, {
    param,
    code: 'unsupported_value',
  });
}

/** Whether a job is done; null where it is not. */
function look(job: Json, remote: Remote): true | null {
  switch (job['status']) {
    case 'completed':
      return true;
    case 'failed':
    case 'cancelled':
      throw remote.told(null, job['error']);
    default:
      return null;
  }
}
