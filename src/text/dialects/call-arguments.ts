import { quoteValue } from '../../schema/fields.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import { invalid } from './request-errors.ts';

/**
 * The arguments of a call in a client's history: the text of a JSON object, `{}` for none.
 *
 * @throws Failure invalid_request
 */
export function argumentsOf(text: string | null | undefined, path: string): string {
  if (text === null || text === undefined || text.trim() === '') return '{}';
  if (isObject(tryParseJson(text))) return text;
  throw invalid(path, `expected the text of a JSON object, received ${quoteValue(text)}`);
}
