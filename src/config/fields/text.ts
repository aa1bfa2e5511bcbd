import * as v from 'valibot';
import { valueOr } from '../../flow.ts';

/** A text that is not empty. */
export const text = () => v.pipe(v.string(), v.nonEmpty());

/** A text of a pattern. */
export const matching = (pattern: RegExp, expects: string) =>
  v.pipe(v.string(), v.regex(pattern), v.metadata({ expects }));

/** A check whose message does not quote the value. */
export const checked = <Value>(isValid: (value: Value) => boolean, message: string) =>
  v.rawCheck<Value>(({ dataset, addIssue }) => {
    if (dataset.typed && !isValid(dataset.value)) addIssue({ message });
  });

/** A check of the number of properties. */
export const atMost = <Value extends object>(most: number, what: string) =>
  checked<Value>((value) => Object.keys(value).length <= most, `expected at most ${most} ${what}`);

/** A name for use in URLs and in lists with commas. */
export const identifier = () =>
  matching(
    /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/,
    'letters, digits and . _ : / @ + -, 128 at most,',
  );

/** The identifier of a model: a name as above, or one with a wildcard, such as `claude-*`. */
export const modelIdentifier = () =>
  matching(
    /^(?=[^*]*\*?[^*]*$)[A-Za-z0-9*][A-Za-z0-9._:/@+*-]{0,127}$/,
    'letters, digits and . _ : / @ + -, one * at most, 128 in all,',
  );

function isHttpUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, search, hash } = new URL(value);
  return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === '';
}

/** A base URL, to which paths are appended; loaded without a slash at its end. */
export const httpUrl = () =>
  v.pipe(
    v.string(),
    v.check(isHttpUrl),
    v.metadata({ expects: 'an http or https URL without credentials, query and fragment' }),
    v.transform((value) => new URL(value).href.replace(/\/+$/, '')),
  );

function isRedisUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname, pathname, search, hash, username, password } = new URL(value);
  if (!/^rediss?:$/.test(protocol) || hostname === '' || `${search}${hash}` !== '') return false;
  return /^(?:\/\d{0,4})?$/.test(pathname) && isPercentEncoded(username + password);
}

const isPercentEncoded = (text: string): boolean =>
  valueOr(() => decodeURIComponent(text), null) !== null;

/** Address of a Redis server, its credentials and the number of a database. */
export const redisUrl = () => v.pipe(v.string(), v.check(isRedisUrl));

function isPostgresUrl(text: string): boolean {
  if (!/^postgres(?:ql)?:\/\//.test(text) || !URL.canParse(text)) return false;
  const { hostname, pathname } = new URL(text);
  return hostname !== '' && /^\/[^/]+$/.test(pathname);
}

/** Address of a PostgreSQL server, its credentials, the name of a database and parameters such as sslmode. */
export const postgresUrl = () => v.pipe(v.string(), v.check(isPostgresUrl));

/** A setting that the daemon reads only at start; it reads all others again on SIGHUP. */
export const ONCE = { restart: true } as const;
