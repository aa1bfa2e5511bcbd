import * as v from 'valibot';
import { optional, withDefault } from '../../schema/fields.ts';
import { matching, text } from '../fields/text.ts';
import { duration, size } from '../fields/units.ts';

const listOf = (pattern: RegExp, expects: string, secret?: 'always') =>
  v.array(v.pipe(matching(pattern, expects), v.metadata({ ...(secret && { secret }) })));

/** Names in URLs, as presets and folders have them. */
const NAME = matching(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'lower-case letters, digits, _ and -');

/** Images by URL. */
export const images = v.strictObject({
  keys: withDefault(
    listOf(/^[\x21-\x7e]{16,256}$/, '16 to 256 printable characters', 'always'),
    [],
    'Keys that sign URLs. The first signs, all are accepted. Empty: /img answers 404.',
    { secret: 'always', expects: 'a list of keys with 16 to 256 printable characters' },
  ),
  hosts: withDefault(
    listOf(/^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*(?::\d{1,5})?$/, 'a host name in lower case'),
    [],
    'Hosts from which images are fetched: a name, with a port other than 80 and 443, or *.example.com for all ' +
      'names below it. Redirects stay on these hosts. The rules of network apply too.',
    { expects: 'a list of host names such as images.example.com or *.example.com' },
  ),
  buckets: withDefault(
    listOf(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'the name of a bucket'),
    [],
    'Buckets from which images are read, with the service and the credentials of assets (driver: s3).',
    { expects: 'a list of names of buckets' },
  ),
  folders: withDefault(
    v.record(NAME, text()),
    {},
    'Folders from which images are read, by the names that URLs begin their source with; relative to the file that ' +
      'sets them.',
    { expects: 'an object of names and folders' },
  ),
  presets: withDefault(
    v.record(NAME, text()),
    {},
    'Steps by a name that stands for them in URLs, such as thumb: w=200,h=200,fit=cover.',
    { expects: 'an object of names and steps' },
  ),
  formats: withDefault(
    v.array(v.picklist(['avif', 'webp'])),
    ['avif', 'webp'],
    "Formats for clients that accept them, the first one first, if the URL names no format. Others get the source's. " +
      'AVIF takes five times as long as WebP.',
    { expects: 'a list of avif and webp' },
  ),
  maxAge: withDefault(
    duration('1s', '3650d'),
    '7d',
    'How long clients and the cache keep an image. A changed file of a folder is rendered again at once.',
  ),
  cache: withDefault(
    size('0B', '1000TB'),
    '1GB',
    'Disk space of rendered images in dataDir/images; the least recently used are removed. 0B: none are kept on the disk.',
  ),
  timeout: withDefault(
    duration('100ms', '10m'),
    '20s',
    'Longest wait for a source, and again for its rendering. batch has the limits of pixels and frames, and svg.',
  ),
  placeholder: optional(
    duration('0ms', '1m'),
    'How long a request waits for the first rendering before it gets a transparent pixel that no cache keeps. Unset: ' +
      'until the image is there.',
    { example: '200ms' },
  ),
});
