import { randomBytes } from 'node:crypto';
import { Failure } from '../../failure.ts';

/** 256 random bits in base64url, and an extension. */
const ID = /^[\w-]{43}\.[a-z0-9]{1,8}$/;
const EXTENSION = /^[a-z0-9]{1,8}$/;
/** Name of one of 4096 subfolders: in one folder, too many files would be slow to list. */
export const SUBFOLDER = /^[\w-]{2}$/;

/** A random name. @param extension `png`; the media type that is served follows from it */
export function newAssetId(extension: string): string {
  if (EXTENSION.test(extension)) return `${randomBytes(32).toString('base64url')}.${extension}`;
  const message = `expected an extension of at most eight lower-case letters and digits, received ${JSON.stringify(extension)}`;
  throw new Failure('invalid_request', message);
}

export function isAssetId(text: string): boolean {
  return ID.test(text);
}

/** The subfolder of a file, on disk and in a bucket alike, so that one can be copied to the other. */
export function subfolderOf(id: string): string {
  return id.slice(0, 2);
}

/** Folder for files without a record. It has one folder for each day on which files were moved there. */
export const QUARANTINE = 'quarantine';
const DAY_FOLDER = /^\d{4}-\d{2}-\d{2}$/;
const DAY_MS = 86_400_000;
/** Days for which the quarantine keeps a file. Also in the README. */
const QUARANTINE_DAYS = 30;

export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** Whether the quarantine has kept the files of a day's folder for long enough. */
export function isQuarantineOver(day: string, now: number): boolean {
  return DAY_FOLDER.test(day) && day < dayOf(now - QUARANTINE_DAYS * DAY_MS);
}
