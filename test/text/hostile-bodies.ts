import type { DialectName } from './mock-upstream.ts';
import { requestsIn } from './requests.ts';

/** A signature in the wrapping of the gateway, which clients can forge. */
function wrapped(dialect: string, provider: string | null, value: unknown): string {
  return `oriel:${Buffer.from(JSON.stringify([dialect, provider, value])).toString('base64url')}`;
}

/** Wrapped signatures that the gateway never makes. */
export const FORGED: readonly string[] = [
  wrapped('chat', 'openai', { reasoning_details: 5 }),
  wrapped('chat', 'openai', { reasoning_details: [null, 5, 'x', [], {}] }),
  wrapped('chat', null, { reasoning_details: { length: 2 } }),
  wrapped('chat', 'openai', []),
  wrapped('responses', 'openai', { id: {}, encrypted_content: [], summary: 'x', content: 7 }),
  wrapped('responses', 'openai', { type: 'message', id: 'x', encrypted_content: 'y' }),
  wrapped('messages', 'anthropic', { signature: {}, data: {} }),
  wrapped('messages', 'anthropic', [['signature', 'x']]),
  `oriel:${Buffer.from(`["chat","openai",${'['.repeat(50_000)}${']'.repeat(50_000)}]`).toString('base64url')}`,
  'oriel:',
  'oriel:%%%%',
];

/** A request with an assistant's reasoning, in the format of a client. */
export function thought(dialect: DialectName, signature: string): object {
  switch (dialect) {
    case 'chat':
      return {
        messages: [
          { role: 'user', content: 'Hello' },
          {
            role: 'assistant',
            content: 'Hi',
            reasoning_details: [
              { type: 'reasoning.text', text: 'Hm', signature: signature, index: 0 },
            ],
          },
          { role: 'user', content: 'And?' },
        ],
      };
    case 'responses':
      return {
        input: [
          { role: 'user', content: 'Hello' },
          { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: signature },
          { role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] },
          { role: 'user', content: 'And?' },
        ],
      };
    case 'messages':
      return {
        max_tokens: 500,
        messages: [
          { role: 'user', content: 'Hello' },
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'Hm', signature: signature },
              { type: 'text', text: 'Hi' },
            ],
          },
          { role: 'user', content: 'And?' },
        ],
      };
  }
}

/** Valid requests without a model, most of which can be translated for any upstream. */
export const BODIES = requestsIn<Readonly<Record<DialectName, readonly object[]>>>('valid');
