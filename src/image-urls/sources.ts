import { realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { bucketOf } from '../assets/open.ts';
import type { Config } from '../config/settings/schema.ts';
import { type CodeOf, Failure } from '../failure.ts';
import { FairSemaphore, type Release } from '../fair-semaphore.ts';
import type { Source } from '../operations/definition/job.ts';
import { fetchPublic } from '../upstream/fetch-public.ts';
import { networkPolicyOf } from '../upstream/network-policy.ts';
import type { Upstream } from '../upstream/response.ts';

/** Requests for sources at once, and those to one host, so that a slow one leaves places to others. */
const FETCHES = 64;
const FETCHES_PER_HOST = 16;

/** Bytes of sources in memory, until they are rendered. */
const MEMORY = 256 * 2 ** 20;

/** Images of one host, bucket or folder that may wait for a fetch, and for a rendering. */
const MAX_WAITING = 64;

/** Waits for a permit. @throws Failure 503 `overloaded` if too many of the owner wait already */
export function takeTurn(
  semaphore: FairSemaphore,
  owner: string,
  signal: AbortSignal,
): Promise<Release> {
  if (semaphore.waitingOf(owner) < MAX_WAITING) return semaphore.acquire(owner, signal);
  const message = 'too many images of this source are being made; request this one later';
  throw new Failure('service_error', message, { code: 'overloaded', retryAfter: 2 });
}

/** A source before it is read. */
export interface FoundSource {
  /** Host, bucket or folder: those that wait take turns. */
  readonly owner: string;
  /** What it is cached under: a changed file has another one. */
  readonly identity: string;
  /** @returns what a job reads, and a function that ends its use of memory */
  open(signal: AbortSignal): Promise<{ readonly source: Source; readonly release: () => void }>;
}

/** Finds and reads the sources of images. Messages to clients name no address. */
export class ImageSources {
  readonly #config: () => Config;
  readonly #upstream: Upstream;
  readonly #fetches = new FairSemaphore(FETCHES, { permitsPerClient: FETCHES_PER_HOST });
  readonly #memory = new FairSemaphore(Number.POSITIVE_INFINITY, {
    bytes: MEMORY,
    bytesPerClient: MEMORY / 2,
  });

  constructor(config: () => Config, upstream: Upstream) {
    this.#config = config;
    this.#upstream = upstream;
  }

  /** @throws Failure 403 `source_not_allowed`; 404 `source_not_found` */
  async find(source: string): Promise<FoundSource> {
    const { folders, buckets } = this.#config().images;
    if (/^https?:/.test(source)) return this.#ofHost(source);
    const [, bucket, key = ''] = /^s3:\/\/([^/]+)\/(.+)$/s.exec(source) ?? [];
    if (bucket !== undefined) {
      if (!buckets.includes(bucket)) throw notAllowed();
      return this.#ofBucket(bucket, key);
    }
    const [name = '', ...path] = source.split('/');
    if (!Object.hasOwn(folders, name)) throw notAllowed();
    return ofFolder(name, folders[name]!, path);
  }

  #ofHost(text: string): FoundSource {
    const check = (url: URL) => {
      if (!isAllowed(url, this.#config().images.hosts)) throw notAllowed();
    };
    const url = URL.canParse(text) ? new URL(text) : null;
    if (url === null) throw notAllowed();
    check(url);
    return this.#remote(url.host, url.href, (options) => {
      const networkPolicy = networkPolicyOf(this.#config().network);
      return fetchPublic(this.#upstream, url.href, { ...options, networkPolicy, check });
    });
  }

  #ofBucket(bucket: string, key: string): FoundSource {
    return this.#remote(
      `s3:${bucket}`,
      `s3://${bucket}/${key}`,
      async ({ signal, maxBytes, admit }) => {
        const store = bucketOf(this.#config().assets, bucket, this.#upstream);
        const found = await store.get(key, { range: null, signal });
        if (found === null || found === 'changed') throw notFound();
        try {
          if (found.bytes > maxBytes) throw tooLarge();
          await admit(found.bytes);
          return await found.response.bytes(maxBytes);
        } finally {
          found.close();
        }
      },
    );
  }

  /** A source of another server, which is read into memory. */
  #remote(
    owner: string,
    identity: string,
    read: (options: {
      readonly signal: AbortSignal;
      readonly maxBytes: number;
      readonly timeout: number;
      readonly admit: (bytes: number) => Promise<void>;
    }) => Promise<Buffer>,
  ): FoundSource {
    const open = async (signal: AbortSignal) => {
      const { maxSize: maxBytes, timeout } = this.#config().images;
      const deadline = AbortSignal.timeout(timeout);
      const either = AbortSignal.any([signal, deadline]);
      let release = () => {};
      const admit = async (bytes: number) => {
        release = await this.#memory.acquire(owner, either, bytes);
      };
      try {
        const end = await takeTurn(this.#fetches, owner, either);
        try {
          const bytes = await read({ signal: either, maxBytes, timeout, admit });
          return { source: { bytes: new Uint8Array(bytes) }, release };
        } finally {
          end();
        }
      } catch (error) {
        release();
        if (signal.aborted) throw signal.reason;
        throw deadline.aborted ? timedOut(error) : sourceFailure(error);
      }
    };
    return { owner, identity, open };
  }
}

/** Whether a URL is on one of the hosts. */
function isAllowed({ host, hostname }: URL, hosts: readonly string[]): boolean {
  return hosts.some((one) => {
    const isWithPort = /:\d+$/.test(one);
    const name = isWithPort ? host : hostname;
    if (!isWithPort && host !== hostname) return false;
    return one.startsWith('*.') ? name.endsWith(one.slice(1)) : name === one;
  });
}

/** A file below a folder, also after its symbolic links are followed. */
async function ofFolder(
  name: string,
  folder: string,
  path: readonly string[],
): Promise<FoundSource> {
  const isPath = path.length > 0 && path.every((part) => !/^\.{0,2}$|[\0\\/]/.test(part));
  if (!isPath) throw notFound();
  try {
    const [root, file] = await Promise.all([realpath(folder), realpath(join(folder, ...path))]);
    const facts = await stat(file);
    if (!file.startsWith(root.endsWith(sep) ? root : root + sep) || !facts.isFile())
      throw notFound();
    const { mtimeMs, size } = facts;
    return {
      owner: `folder:${name}`,
      identity: `${file} ${mtimeMs} ${size}`,
      open: async () => ({ source: { path: file }, release: () => {} }),
    };
  } catch (error) {
    throw error instanceof Failure ? error : notFound(error);
  }
}

function notAllowed(): Failure {
  return new Failure('auth_error', 'the settings do not allow this source', {
    code: 'source_not_allowed',
  });
}

function notFound(cause?: unknown): Failure {
  return new Failure('invalid_request', 'there is no such source', {
    ...{ code: 'source_not_found', cause },
  });
}

function tooLarge(): Failure {
  return new Failure('invalid_request', 'the source has more bytes than images.maxSize', {
    ...{ code: 'file_too_large', status: 422 },
  });
}

const timedOut = (cause: unknown) =>
  new Failure('timeout', 'the source did not arrive in time', { code: 'source_timeout', cause });

/** Codes of refused addresses. */
const REFUSED: readonly CodeOf<'invalid_request'>[] = [
  ...(['private_address', 'address_denied', 'port_denied'] as const),
];

/** The failure of a fetch without the names and addresses that its own message has; the log gets those. */
function sourceFailure(error: unknown): unknown {
  if (!(error instanceof Failure)) return error;
  const { type, code, status, message, upstreamStatus } = error;
  if (/^source_/.test(code ?? '') || code === 'overloaded' || code === 'file_too_large')
    return error;
  if (REFUSED.some((one) => one === code)) return notAllowed();
  if (code === 'upstream_answer_too_large') return tooLarge();
  if (upstreamStatus === 404 || upstreamStatus === 410) return notFound(error);
  if (type === 'timeout') return timedOut(error);
  return new Failure('service_error', 'the source cannot be fetched', {
    ...{ code: 'source_unavailable', detail: `${status} ${message}`, cause: error },
  });
}
