import * as v from 'valibot';
import { codedFailure, Failure } from '../failure.ts';
import { valueOr } from '../flow.ts';

/** File of a backup that names all others. It is written last. */
export const MANIFEST = 'manifest.json';

const FORMAT = 'oriel-backup';
const VERSION = 1;

/** Bytes of a manifest: a file takes about 200. */
const MAX_MANIFEST_BYTES = 256 * 2 ** 20;

/** Characters of a path, as many as the header of a tar has. */
const MAX_PATH = 100;

/** Path below the folder of a backup: neither absolute nor with `..`. */
const PATH = /^(?!\.\.?(?:\/|$))[\w.-]+(?:\/(?!\.\.?(?:\/|$))[\w.-]+)*$/;

/** Name of a backup: `oriel-20270131T120000.000Z`. Names sort by time. */
const NAME = /^oriel-\d{8}T\d{6}\.\d{3}Z$/;

export const isSafePath = (path: string): boolean => path.length <= MAX_PATH && PATH.test(path);

const file = v.strictObject({
  path: v.pipe(v.string(), v.check(isSafePath)),
  bytes: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
  sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  /** Backup of the same bucket that has the object; absent for this one. */
  from: v.optional(v.pipe(v.string(), v.regex(NAME))),
});

const manifest = v.strictObject({
  format: v.literal(FORMAT),
  version: v.literal(VERSION),
  name: v.pipe(v.string(), v.regex(NAME)),
  createdAt: v.string(),
  /** Version of the program. */
  program: v.string(),
  store: v.strictObject({
    driver: v.picklist(['lowdb', 'postgres']),
    /** Identifier of the store; the place of a database. */
    id: v.string(),
  }),
  files: v.array(file),
});

export type BackupFile = v.InferOutput<typeof file>;
export type Manifest = v.InferOutput<typeof manifest>;

export function newManifest(parts: Pick<Manifest, 'name' | 'program' | 'store' | 'files'>) {
  const createdAt = new Date().toISOString();
  return { format: FORMAT, version: VERSION, createdAt, ...parts } satisfies Manifest;
}

/**
 * Name of a new backup, which sorts behind the others of its place also if the clock was ahead when those were made.
 *
 * @param newest time of the newest other one
 */
export const newName = (newest: number): string =>
  `oriel-${new Date(Math.max(Date.now(), newest + 1)).toISOString().replaceAll(/[-:]/g, '')}`;

/** Time of a backup by its name, in milliseconds since the epoch. */
export function timeOf(name: string): number {
  const [, year, month, day, hour, minute, rest] =
    /-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(.*)$/.exec(name) ?? [];
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${rest}`);
}

export const isBackupName = (name: string): boolean => NAME.test(name);

/** @param place for the message @throws Failure `backup_invalid` */
export function parseManifest(text: string, place: string): Manifest {
  const value = valueOr<unknown, undefined>(() => JSON.parse(text), undefined);
  if (value === undefined) throw invalidBackup(`${place}: expected JSON; the file is damaged`);
  const { format, version } = (value ?? {}) as { readonly format?: unknown; version?: unknown };
  if (format === FORMAT && typeof version === 'number' && version > VERSION) {
    throw invalidBackup(`${place}: has version ${version}, and this program reads ${VERSION}`);
  }
  const parsed = v.safeParse(manifest, value);
  if (!parsed.success) {
    const [issue] = parsed.issues;
    const where = v.getDotPath(issue) ?? 'manifest';
    throw invalidBackup(
      `${place}: ${where}: expected ${issue.expected ?? 'a safe path'}, received ${issue.received.slice(0, 120)}`,
    );
  }
  const paths = new Set(parsed.output.files.map(({ path }) => path));
  if (paths.size < parsed.output.files.length) {
    throw invalidBackup(`${place}: expected each path once, and one is there twice`);
  }
  return parsed.output;
}

/** @param chunks content of the file @param place for the message @throws Failure `backup_invalid` */
export async function readManifest(
  chunks: AsyncIterable<Buffer>,
  place: string,
): Promise<Manifest> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MAX_MANIFEST_BYTES) throw invalidBackup(`${place}: too large`);
    parts.push(chunk);
  }
  return parseManifest(Buffer.concat(parts).toString(), place);
}

export function invalidBackup(message: string, cause?: unknown): Failure {
  return codedFailure('backup_invalid', message, { cause });
}

/** @param what file or place, for the operator alone */
export function cannotWrite(what: string, cause: unknown): Failure {
  if (cause instanceof Failure) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const options = { code: 'storage_unavailable', cause } as const;
  return new Failure('service_error', `${what} cannot be written: ${reason}`, options);
}

/** Runs work that writes a file or a place. @throws Failure `storage_unavailable` */
export async function writing<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw cannotWrite(what, error);
  }
}
