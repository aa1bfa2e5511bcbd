import { sdkCode } from '../../components/shown-request.ts';
import type { Json } from './formats/answer.ts';
import type { FormatName } from './formats/conversation.ts';

/** Calls of the official SDKs, and what prints the text of the stream. */
const CALLS = {
  chat: {
    sdk: 'OpenAI',
    method: 'chat.completions.create',
    print: ["process.stdout.write(event.choices[0]?.delta.content ?? '');"],
  },
  responses: {
    sdk: 'OpenAI',
    method: 'responses.create',
    print: ["if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);"],
  },
  messages: {
    sdk: 'Anthropic',
    method: 'messages.create',
    print: [
      "if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {",
      '  process.stdout.write(event.delta.text);',
      '}',
    ],
  },
} as const;

/** Code that sends a request by the SDK of its format. */
export function sdkOf(format: FormatName, body: Json): readonly [label: string, text: string] {
  const { sdk, method, print } = CALLS[format];
  return sdkCode(sdk, [
    `const stream = await client.${method}(${JSON.stringify(body, null, 2)});`,
    'for await (const event of stream) {',
    ...print.map((line) => `  ${line}`),
    '}',
  ]);
}
