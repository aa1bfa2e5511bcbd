import type { DialectName } from './mock-upstream.ts';

const IMAGE = 'iVBORw0KGgo=';
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string', enum: ['Bonn'] }, days: { type: 'integer', minimum: 1 } },
  required: ['city'],
  additionalProperties: false,
};

/** A signature in the wrapping of the gateway, which clients can forge. */
function wrapped(dialect: string, provider: string | null, value: unknown): string {
  return `oriel:${Buffer.from(JSON.stringify([dialect, provider, value])).toString('base64url')}`;
}

const THOUGHTS = [
  wrapped('chat', 'openai', {
    reasoning_details: [{ type: 'reasoning.text', text: 'Hm', signature: 'c', index: 0 }],
  }),
  wrapped('responses', 'openai', {
    id: 'rs_1',
    encrypted_content: 'r',
    summary: [{ type: 'summary_text', text: 'Hm' }],
  }),
  wrapped('messages', 'anthropic', { signature: 'm' }),
  wrapped('messages', null, { data: 'm' }),
] as const;

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

const CALL_ID = 'functions.weather:0';

/** Valid requests without a model, most of which can be translated for any upstream. */
export const BODIES: Readonly<Record<DialectName, readonly object[]>> = {
  chat: [
    {
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?', cache_control: { type: 'ephemeral' } },
            {
              type: 'image_url',
              image_url: { url: `data:image/png;base64,${IMAGE}`, detail: 'low' },
            },
          ],
        },
      ],
      temperature: 0.5,
      top_p: 0.9,
      max_completion_tokens: 100,
      metadata: { a: 'b' },
      user: 'somebody',
      parallel_tool_calls: true,
      reasoning_effort: 'low',
    },
    {
      messages: [
        { role: 'user', content: 'How is the weather?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: CALL_ID,
              type: 'function',
              function: { name: 'weather', arguments: '{"city":"Bonn"}' },
            },
            { id: 'call_2', type: 'function', function: { name: 'weather', arguments: '' } },
          ],
        },
        { role: 'tool', tool_call_id: CALL_ID, content: 'sunny' },
        { role: 'tool', tool_call_id: 'call_2', content: [{ type: 'text', text: 'rainy' }] },
        { role: 'user', content: 'Thanks' },
      ],
      tools: [
        {
          type: 'function',
          function: { name: 'weather', description: 'Tells it', parameters: SCHEMA, strict: true },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'weather' } },
      max_tokens: 100,
    },
    {
      messages: [
        { role: 'user', content: 'Hello' },
        {
          role: 'assistant',
          content: 'Hi',
          reasoning_details: THOUGHTS.map((signature, index) => ({
            type: 'reasoning.text',
            text: 'Hm',
            signature,
            index,
          })),
        },
        { role: 'user', content: 'And?' },
      ],
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema: SCHEMA } },
      stream_options: { include_usage: true },
    },
    {
      messages: [
        { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] },
        { role: 'user', content: 'Hello', name: 'bob' },
        {
          role: 'assistant',
          content: 'Hi',
          refusal: null,
          reasoning_content: 'Hm',
          annotations: [],
        },
        {
          role: 'user',
          content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }],
        },
      ],
      n: 2,
      stop: ['a', 'b'],
      seed: 1,
      logprobs: true,
      top_logprobs: 2,
      logit_bias: { '5': 1 },
      frequency_penalty: 0,
      presence_penalty: 1,
      thinking: { type: 'enabled', budget_tokens: 2000 },
      verbosity: 'low',
    },
  ],
  responses: [
    {
      input: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is this?' },
            { type: 'input_image', image_url: `data:image/png;base64,${IMAGE}`, detail: 'low' },
          ],
        },
      ],
      instructions: 'Be brief.',
      reasoning: { effort: 'low', summary: 'auto' },
      max_output_tokens: 5000,
      temperature: 1,
      top_p: 1,
      metadata: { a: 'b' },
      include: ['reasoning.encrypted_content'],
      store: false,
      truncation: 'disabled',
    },
    {
      input: [
        { role: 'user', content: 'How is the weather?' },
        ...THOUGHTS.map((encrypted_content, index) => ({
          type: 'reasoning',
          id: `rs_${index}`,
          summary: [{ type: 'summary_text', text: 'Hm' }],
          encrypted_content,
        })),
        {
          type: 'function_call',
          id: 'fc_1',
          call_id: CALL_ID,
          name: 'weather',
          arguments: '{"city":"Bonn"}',
        },
        { type: 'function_call_output', call_id: CALL_ID, output: 'sunny' },
        { role: 'assistant', content: [{ type: 'output_text', text: 'Sunny', annotations: [] }] },
        { role: 'user', content: 'Thanks' },
      ],
      tools: [{ type: 'function', name: 'weather', parameters: SCHEMA, strict: true }],
      tool_choice: { type: 'function', name: 'weather' },
      parallel_tool_calls: false,
    },
    {
      input: 'Hello',
      text: { format: { type: 'json_schema', name: 'n', schema: SCHEMA }, verbosity: 'low' },
      tools: [{ type: 'function', name: 'f'.repeat(70), parameters: null, strict: null }],
    },
    {
      input: [
        { type: 'reasoning', id: 'rs_oriel1', summary: [] },
        { type: 'item_reference', id: 'msg_1' },
        { type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot' } },
        {
          role: 'user',
          content: [{ type: 'input_file', file_data: 'data:application/pdf;base64,AAAA' }],
        },
      ],
      tools: [{ type: 'web_search_preview' }],
      tool_choice: { type: 'web_search_preview' },
      top_logprobs: 1,
    },
  ],
  messages: [
    {
      max_tokens: 500,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: IMAGE } },
          ],
        },
      ],
      temperature: 1,
      top_p: 1,
      metadata: { user_id: 'somebody' },
    },
    {
      max_tokens: 5000,
      messages: [
        { role: 'user', content: 'How is the weather?' },
        {
          role: 'assistant',
          content: [
            ...THOUGHTS.map((signature) => ({ type: 'thinking', thinking: 'Hm', signature })),
            { type: 'redacted_thinking', data: THOUGHTS[1] },
            { type: 'text', text: 'Let me see.' },
            { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Bonn' } },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_1',
              content: [{ type: 'text', text: 'sunny' }],
            },
            { type: 'text', text: 'Thanks' },
          ],
        },
      ],
      tools: [{ name: 'weather', description: 'Tells it', input_schema: SCHEMA }],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 2000 },
    },
    {
      max_tokens: 500,
      system: 'Be brief.',
      messages: [{ role: 'user', content: 'Hello' }],
      output_config: { effort: 'low', format: { type: 'json_schema', schema: SCHEMA } },
    },
    {
      max_tokens: 500,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Words' } },
            {
              type: 'document',
              source: { type: 'content', content: [{ type: 'text', text: 'Words' }] },
              title: 'T',
            },
          ],
        },
        { role: 'assistant', content: 'So' },
      ],
      top_k: 3,
      stop_sequences: ['a'],
      service_tier: 'auto',
      thinking: { type: 'adaptive' },
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
    },
  ],
};
