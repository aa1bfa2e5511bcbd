/** A turn of a conversation, as chat completions have it. */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
  /** Models with fixed reasoning want theirs back (interface part 4.1, rule 5). */
  readonly reasoning_content?: string;
}
