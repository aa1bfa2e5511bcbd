import { Failure } from '../../failure.ts';
import type { TextRequest } from '../canonical/canonical.ts';

/** How a request is sent although the upstream's format cannot express one of its fields. */
export interface Removal {
  /** Paths in the client's request. */
  readonly paths: readonly string[];
  /** Whether it only advises the model, so that it is dropped unless the operator refuses that. */
  readonly isHint: boolean;
  remove(request: TextRequest): TextRequest;
}

/** What `onUnsupported` never leaves out, and why. */
const KEPT = {
  content: 'parts of a conversation are never left out, since the model would answer another one',
  prefill: 'it is never left out, since clients join it with an answer that continues it',
  schema: 'a schema is never left out, since clients parse the answer by it',
  tool: 'tools are never left out, since clients rely on their calls',
} as const;

export type NeverOmitted = keyof typeof KEPT;

/** The failure of a request with a field that the upstream's format cannot express. */
export class UnsupportedField extends Failure<'invalid_request'> {
  /** Null for what is never left out. */
  readonly removal: Removal | null;

  /** @param fate how it is left out, or why it never is; null where `why` says so */
  constructor(param: string, why: string, fate: Removal | NeverOmitted | null) {
    const reason = typeof fate === 'string' ? `; ${KEPT[fate]}` : '';
    super('invalid_request', `${param}: ${why}${reason}`, {
      param,
      code: 'not_supported_by_model',
    });
    this.removal = typeof fate === 'string' ? null : fate;
  }
}
