import type { Work } from '../work.ts';

/** What a client asks for, validated against its model, before anything is looked up, kept or held. */
export interface MediaRequest {
  /** Without its inputs and its mask. */
  readonly work: Work;
  /** `input_images` as the client wrote them: http(s), data: or our own asset URLs. */
  readonly inputs: readonly string[];
  readonly callbackUrl: string | null;
}
