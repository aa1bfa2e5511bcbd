/** A message of a chat completion. */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
  /** Models with fixed reasoning require it in later requests (interface part 4.1, rule 5). */
  readonly reasoning_content?: string;
}
