import { realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { bucketOf } from '../../assets/open.ts';
import type { Config } from '../../config/settings/schema.ts';
import { codedFailure, Failure } from '../../failure.ts';
import { FairSemaphore, type Release } from '../../fair-semaphore.ts';
import { DEFAULT_LIMITS } from '../../images/limits.ts';
import type { Source } from '../../operations/definition/job.ts';
import { fetchPublic } from '../../upstream/fetch-public.ts';
import { networkPolicyOf } from '../../upstream/network-policy.ts';
import type { Upstream } from '../../upstream/response.ts';

/** Requests for sources at once, and those to one host, so that a slow one leaves places to others. */
const FETCHES = 64;
const FETCHES_PER_HOST = 16;

/** Bytes of sources in memory, until they are rendered. */
const MEMORY = 256 * 2 ** 20;

/** Images of one host, bucket or folder that may wait to be fetched, and to be rendered. */
const MAX_WAITING = 64;

const { fileBytes: MAX_BYTES } = DEFAULT_LIMITS;

/** A source before it is read. */
export interface FoundSource {
  /** Host, bucket or folder: those that wait take turns. */
  readonly owner: string;
  /** What it is cached under: a changed file has another one. */
  readonly identity: string;
  /** @returns what a job reads, and a function that ends its use of memory */
  open(): Promise<{ readonly source: Source; readonly release: Release }>;
}

/** Waits for a permit. @throws Failure 503 `overloaded` if too many of the owner wait already, or once the signal aborts */
export async function takeTurn(
  semaphore: FairSemaphore,
  owner: string,
  signal: AbortSignal,
): Promise<Release> {
  try {
    if (semaphore.waitingOf(owner) < MAX_WAITING) return await semaphore.acquire(owner, signal);
  } catch {
    // It has waited for too long.
  }
  const message = 'too many images of this source are being made; request this one later';
  throw codedFailure('overloaded', message, { retryAfter: 2 });
}

/** Finds and reads the sources of images. Messages to clients name no address. */
export function imageSources(config: () => Config, upstream: Upstream) {
  const fetches = new FairSemaphore(FETCHES, { permitsPerClient: FETCHES_PER_HOST });
  const memory = new FairSemaphore(Infinity, { bytes: MEMORY, bytesPerClient: MEMORY / 2 });

  /** @throws Failure 403 `source_not_allowed`; 404 `source_not_found` */
  return async function find(source: string): Promise<FoundSource> {
    const { images, assets, network } = config();
    const url = URL.canParse(source) ? new URL(source) : null;
    if (url?.protocol === 's3:') {
      if (!images.buckets.includes(url.host)) throw notAllowed();
      // As written: the parser of URLs would encode letters.
      const key = source.slice(`s3://${url.host}/`.length);
      checkPath(key.split('/'));
      return remote(source, `s3:${url.host}`, async (signal, admit) => {
        const bucket = bucketOf(assets, url.host, upstream);
        const found = await bucket.get(key, { range: null, signal });
        if (found === null || found === 'changed') throw notFound();
        try {
          if (found.bytes > MAX_BYTES) throw tooLarge();
          await admit(found.bytes);
          return await found.response.bytes(MAX_BYTES);
        } finally {
          found.close();
        }
      });
    }
    if (url === null) return ofFolder(source, images.folders);
    const check = (target: URL) => {
      if (!isAllowed(target, images.hosts)) throw notAllowed();
    };
    check(url);
    return remote(url.href, url.host, (signal, admit) => {
      const networkPolicy = networkPolicyOf(network);
      const limits = { maxBytes: MAX_BYTES, timeout: images.timeout, networkPolicy };
      return fetchPublic(upstream, url.href, { ...limits, signal, check, admit });
    });
  };

  /** A source of another server, which is read into memory. */
  function remote(
    identity: string,
    owner: string,
    read: (signal: AbortSignal, admit: (bytes: number) => Promise<void>) => Promise<Buffer>,
  ): FoundSource {
    const open = async () => {
      const deadline = AbortSignal.timeout(config().images.timeout);
      let release = () => {};
      const admit = async (bytes: number) => {
        release = await memory.acquire(owner, deadline, bytes);
      };
      try {
        const end = await takeTurn(fetches, owner, deadline);
        const bytes = await read(deadline, admit).finally(end);
        return { source: { bytes: new Uint8Array(bytes) }, release };
      } catch (error) {
        release();
        throw sourceFailure(error, deadline.aborted);
      }
    };
    return { owner, identity, open };
  }
}

/** Whether a URL is on one of the hosts. */
function isAllowed({ protocol, host }: URL, hosts: readonly string[]): boolean {
  const isOne = (one: string) =>
    one.startsWith('*.') ? host.endsWith(one.slice(1)) : host === one;
  return /^https?:$/.test(protocol) && hosts.some(isOne);
}

/** Refuses dots, with which a path would leave its folder, or a key its bucket in the path of a URL. */
function checkPath(path: readonly string[]): void {
  if (path.some((part) => /^\.{0,2}$|[\0\\]/.test(part))) throw notFound();
}

/** A file below a folder, also after its symbolic links are followed. */
async function ofFolder(
  source: string,
  folders: Readonly<Record<string, string>>,
): Promise<FoundSource> {
  const [name = '', ...path] = source.split('/');
  if (!Object.hasOwn(folders, name)) throw notAllowed();
  checkPath(path);
  try {
    const root = join(await realpath(folders[name]!), sep);
    const file = await realpath(join(root, ...path));
    const facts = await stat(file);
    if (!file.startsWith(root) || !facts.isFile()) throw notFound();
    const open = async () => ({ source: { path: file }, release: () => {} });
    return { owner: `folder:${name}`, identity: `${file} ${facts.mtimeMs} ${facts.size}`, open };
  } catch (error) {
    throw (error as NodeJS.ErrnoException).errno === undefined ? error : notFound(error);
  }
}

function notAllowed(): Failure {
  const message = 'the settings do not allow this source';
  return codedFailure('source_not_allowed', message);
}

export function notFound(cause?: unknown): Failure {
  const message = 'there is no such source';
  return codedFailure('source_not_found', message, { cause });
}

function tooLarge(): Failure {
  const message = `the source has more than ${MAX_BYTES} bytes`;
  return codedFailure('file_too_large', message, { status: 422 });
}

/** Failures of reading a source, which name no address to clients, by their codes. */
const KNOWN = ['source_not_allowed', 'source_not_found', 'overloaded', 'file_too_large'];
const REFUSED = ['private_address', 'address_denied', 'port_denied'];

/** The failure of a fetch without the names and addresses that its own message has: only the log gets those. */
function sourceFailure(error: unknown, isLate: boolean): unknown {
  const { type, code, message, upstreamStatus } = error as Partial<Failure>;
  const details = { cause: error, detail: String(message) };
  if (isLate || type === 'timeout') {
    return codedFailure('source_timeout', 'the source did not arrive in time', details);
  }
  if (!(error instanceof Failure) || KNOWN.includes(String(code))) return error;
  if (REFUSED.includes(String(code))) return notAllowed();
  if (code === 'upstream_answer_too_large') return tooLarge();
  if (upstreamStatus === 404 || upstreamStatus === 410) return notFound(error);
  return codedFailure('source_unavailable', 'the source cannot be fetched', details);
}
