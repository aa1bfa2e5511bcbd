import { answerId, answerSeconds } from '../../store/answer-identity.ts';
import type { Document } from '../../store/document.ts';
import type { Json } from '../canonical/canonical.ts';
import type { StoredResponse } from '../stored/history.ts';

/** Milliseconds for which a claim is valid without a renewal, where nodes share the store. */
export const LEASE_MS = 15_000;

/** Work that is left on a response. */
export interface Work {
  readonly body: Json;
  readonly keyId: string;
  readonly starts: number;
  /** The process that works on it, and until when; empty for none. */
  readonly node: string;
  readonly until: number;
  /** Whether the answer is complete, so that it must not run again. */
  readonly isAnswered: boolean;
  readonly callbackUrl: string | null;
  readonly attempts: number;
  readonly nextAt: number;
}

/** A response in the background as it is stored. */
export type OpenResponse = StoredResponse & {
  readonly work?: Work;
  readonly events?: readonly Json[];
};

/** The response before its answer, as its client first sees it. */
export function queuedResponse(
  body: Json,
  previous: string | null,
  conversation: string | null,
): Json {
  return {
    ...{ id: answerId('resp'), object: 'response', created_at: answerSeconds() },
    ...{ status: 'queued', background: true, model: body['model'], output: [], error: null },
    ...{ incomplete_details: null, instructions: body['instructions'] ?? null, usage: null },
    ...{ metadata: body['metadata'] ?? {}, tools: body['tools'] ?? [], store: true },
    ...{ tool_choice: body['tool_choice'] ?? 'auto', parallel_tool_calls: true },
    previous_response_id: previous,
    ...(conversation !== null && { conversation: { id: conversation } }),
  };
}

/** Work of which only the events and the callback are left. */
export function ended(work: Work): Work {
  return { ...work, body: { stream: work.body['stream'] }, isAnswered: true };
}

export const bodyOfOpen = ({ body }: Pick<Document, 'body'>): OpenResponse => body as OpenResponse;
