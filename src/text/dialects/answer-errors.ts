import { codedFailure, Failure } from '../../failure.ts';
import type { DialectName } from '../canonical/canonical.ts';
import type { TextEvent } from '../canonical/events.ts';
import { dialectNamed } from './registry.ts';

/** The failure of an answer that ended before it was complete. */
export function truncatedAnswer(): Failure {
  return codedFailure('stream_truncated', 'The provider ended its answer before it was whole');
}

/** The failure of an answer that cannot be decoded. @param what with its article */
export function invalidAnswer(what: string): Failure {
  return codedFailure('invalid_upstream_answer', `The provider sent ${what}`);
}

/**
 * The failure of a provider whose answer could not be decoded: answers are untrusted.
 *
 * @throws any other error as it is
 */
export function decodingFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof SyntaxError) return invalidAnswer('malformed JSON');
  if (error instanceof RangeError) return invalidAnswer('JSON that is nested too deeply');
  throw error;
}

/** The failure of an answer that the client's dialect cannot express. The provider charges for it. */
export function untranslatableAnswer(client: DialectName, what: string): Failure {
  return codedFailure(
    'untranslatable_output',
    `The model answered with ${what}, which ${dialectNamed(client).label} cannot say`,
  );
}

/** The failure of an answer with a block that only another dialect has. */
export function untranslatableBlock(
  client: DialectName,
  { dialect, value }: TextEvent & { readonly type: 'native' },
): Failure {
  const type = (value as { readonly type?: unknown } | null)?.type;
  const kind = typeof type === 'string' ? ` (${type.slice(0, 60)})` : '';
  return untranslatableAnswer(client, `a block of ${dialectNamed(dialect).label}${kind}`);
}
