import type { TaskRequest } from '../task-request.ts';

/** A request validated against its model, before its inputs are accepted and anything is stored. */
export interface ValidatedRequest {
  /** Without inputs and mask. */
  readonly request: TaskRequest;
  /** `input_images` as the client sent them: http(s), data: or asset URLs of this server. */
  readonly inputImages: readonly string[];
  readonly callbackUrl: string | null;
  /** The client's names of fields that have other names in `request`. */
  readonly fieldNames?: Readonly<Record<string, string>>;
}
