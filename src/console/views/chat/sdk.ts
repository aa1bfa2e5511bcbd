import { SERVER } from '../../api/request.ts';
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

/** Packages of the SDKs, and the path of the server that they are given. */
const SDKS = {
  OpenAI: { module: 'openai', path: 'v1' },
  Anthropic: { module: '@anthropic-ai/sdk', path: '' },
} as const;

/** Code that sends a request by the SDK of its format. */
export function sdkOf(format: FormatName, body: Json): readonly [label: string, text: string] {
  const { sdk, method, print } = CALLS[format];
  const { module, path } = SDKS[sdk];
  const lines = [
    `import ${sdk} from '${module}';`,
    '',
    `const client = new ${sdk}({`,
    `  baseURL: ${JSON.stringify(new URL(path, SERVER).href.replace(/\/$/, ''))},`,
    '  apiKey: process.env.ORIEL_API_KEY,',
    '});',
    `const stream = await client.${method}(${JSON.stringify(body, null, 2)});`,
    'for await (const event of stream) {',
    ...print.map((line) => `  ${line}`),
    '}',
  ];
  return [`${sdk} SDK`, lines.join('\n')];
}
