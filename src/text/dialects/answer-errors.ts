import { Failure } from '../../failure.ts';
import type { DialectName, TextEvent } from '../canonical.ts';
import { DIALECT_NAMES } from './request-errors.ts';

/** A provider's answer stopped without its end. */
export function truncatedAnswer(): Failure {
  return new Failure('network_error', 'The provider ended its answer before it was whole', {
    code: 'stream_truncated',
  });
}

/** A provider sent what nobody can read. @param what with its article */
export function invalidAnswer(what: string): Failure {
  return new Failure('service_error', `The provider sent ${what}`, {
    code: 'invalid_upstream_answer',
  });
}

/** The model wrote what its client's format has no word for. It was paid for all the same. */
export function untranslatableAnswer(client: DialectName, what: string): Failure {
  return new Failure(
    'billable_error',
    `The model answered with ${what}, which ${DIALECT_NAMES[client]} cannot say`,
    { code: 'untranslatable_output' },
  );
}

/** The same, of a block that only another dialect knows. */
export function untranslatableBlock(
  client: DialectName,
  { dialect, value }: TextEvent & { readonly type: 'native' },
): Failure {
  const type = (value as { readonly type?: unknown } | null)?.type;
  const kind = typeof type === 'string' ? ` (${type.slice(0, 60)})` : '';
  return untranslatableAnswer(client, `a block of ${DIALECT_NAMES[dialect]}${kind}`);
}
