import { Failure } from '../../failure.ts';
import type { DialectName } from '../canonical/canonical.ts';
import type { TextEvent } from '../canonical/events.ts';
import { dialectNamed } from './registry.ts';

/** The failure of an answer that ended before it was complete. */
export function truncatedAnswer(): Failure {
  return new Failure('network_error', 'The provider ended its answer before it was whole', {
    code: 'stream_truncated',
  });
}

/** The failure of an answer that cannot be decoded. @param what with its article */
export function invalidAnswer(what: string): Failure {
  return new Failure('service_error', `The provider sent ${what}`, {
    code: 'invalid_upstream_answer',
  });
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
  return new Failure(
    'billable_error',
    `The model answered with ${what}, which ${dialectNamed(client).label} cannot say`,
    { code: 'untranslatable_output' },
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
