import { Failure } from '../../failure.ts';
import type { TextRequest } from '../canonical.ts';

/** How a request is sent without a field that the upstream's format cannot express. */
export interface Removal {
  /** Paths in the client's request. */
  readonly paths: readonly string[];
  remove(request: TextRequest): TextRequest;
}

/** The failure of a request with a field that the upstream's format cannot express. */
export class UnsupportedField extends Failure<'invalid_request'> {
  /** Null for a part of the conversation and for a tool, which are never dropped. */
  readonly removal: Removal | null;

  constructor(param: string, why: string, removal: Removal | null = null) {
    super('invalid_request', `${param}: ${why}`, { param, code: 'not_supported_by_model' });
    this.removal = removal;
  }
}
