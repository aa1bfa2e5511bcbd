import type { TextRequest } from './canonical.ts';

/** A request for each of the conversations that a request continues; the request itself where it has one. */
export function conversationsOf(request: TextRequest): readonly TextRequest[] {
  return request.conversations?.map((turns) => ({ ...request, turns })) ?? [request];
}

/** Which of the conversations one of the `n` answers continues. */
export function conversationOf({ conversations, n }: TextRequest, choice: number): number {
  if (conversations === undefined) return 0;
  return Math.floor((choice * conversations.length) / (n ?? 1));
}
