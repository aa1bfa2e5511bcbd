import { type Admit, type MockUpstream, startMockUpstream } from './mock-upstream.ts';

export const AZURE_KEY = 'azure-key-5ecre7-0123456789abcdef';

/** Deployments of the resource; a name is no model's. */
export const DEPLOYMENTS = ['chat-eu', 'reasoner.v2'];

const NO_DEPLOYMENT = {
  status: 404,
  body: {
    error: {
      code: 'DeploymentNotFound',
      message:
        'The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.',
    },
  },
};

const NOT_FOUND = { status: 404, body: { error: { code: '404', message: 'Resource not found' } } };

const DENIED = {
  status: 401,
  body: {
    error: {
      code: '401',
      message:
        'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.',
    },
  },
};

/**
 * A resource of Azure OpenAI by Microsoft's REST reference: the key in `api-key`, the deployment in dated
 * paths, no version in the v1 paths but `preview`.
 */
const admit: Admit = ({ url = '', headers }) => {
  if (headers['api-key'] !== AZURE_KEY || 'authorization' in headers) return DENIED;
  const { pathname, searchParams } = new URL(url, 'http://azure.invalid');
  const version = searchParams.get('api-version');
  const [, deployment] = /^\/openai\/deployments\/([^/]+)\/chat\/completions$/.exec(pathname) ?? [];
  if (deployment !== undefined) {
    if (version === null || !/^\d{4}-\d\d-\d\d(-preview)?$/.test(version)) return NOT_FOUND;
    return DEPLOYMENTS.includes(decodeURIComponent(deployment)) ? 'chat' : NO_DEPLOYMENT;
  }
  if (version !== null && version !== 'preview') return NOT_FOUND;
  if (pathname === '/openai/v1/chat/completions') return 'chat';
  return pathname === '/openai/v1/responses' ? 'responses' : NOT_FOUND;
};

/** Its `url` ends with /v1, as that of each mock; `resourceOf` is the resource. */
export const startAzureUpstream = (): Promise<MockUpstream> => startMockUpstream(admit);

export const resourceOf = ({ url }: MockUpstream) => url.replace(/\/v1$/, '');

const SAFE = {
  hate: { filtered: false, severity: 'safe' },
  self_harm: { filtered: false, severity: 'safe' },
  sexual: { filtered: false, severity: 'safe' },
  violence: { filtered: false, severity: 'safe' },
};

const HEAD = {
  created: 1_770_000_000,
  id: 'chatcmpl-azure0001',
  model: 'gpt-4o-2024-11-20',
  object: 'chat.completion.chunk',
  system_fingerprint: 'fp_azure',
};

const ABOUT_FILTERS = { created: 0, id: '', model: '', object: '' };

const choice = (more: object) => ({ index: 0, logprobs: null, finish_reason: null, ...more });

/** A stream with the filter's chunks: one about the prompt before, one about the text after the finish. */
export function filteredStream(finish: 'stop' | 'content_filter'): string {
  const chunks = [
    {
      ...ABOUT_FILTERS,
      choices: [],
      prompt_filter_results: [{ prompt_index: 0, content_filter_results: SAFE }],
    },
    {
      ...HEAD,
      choices: [
        choice({
          content_filter_results: {},
          delta: { content: '', refusal: null, role: 'assistant' },
        }),
      ],
    },
    { ...HEAD, choices: [choice({ content_filter_results: SAFE, delta: { content: 'Hello ' } })] },
    { ...HEAD, choices: [choice({ content_filter_results: SAFE, delta: { content: 'there' } })] },
    {
      ...HEAD,
      choices: [choice({ content_filter_results: {}, delta: {}, finish_reason: finish })],
    },
    {
      ...ABOUT_FILTERS,
      choices: [
        {
          index: 0,
          finish_reason: null,
          content_filter_results: SAFE,
          content_filter_offsets: { check_offset: 44, start_offset: 44, end_offset: 55 },
        },
      ],
      usage: null,
    },
    {
      ...HEAD,
      choices: [],
      usage: {
        completion_tokens: 11,
        prompt_tokens: 23,
        total_tokens: 34,
        completion_tokens_details: { reasoning_tokens: 0 },
        prompt_tokens_details: { cached_tokens: 0 },
      },
    },
  ];
  return [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]']
    .map((data) => `data: ${data}\n\n`)
    .join('');
}

/** The answer to a prompt that the filter blocks. */
export const BLOCKED_PROMPT = {
  status: 400,
  body: {
    error: {
      message:
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.",
      type: null,
      param: 'prompt',
      code: 'content_filter',
      status: 400,
      innererror: {
        code: 'ResponsibleAIPolicyViolation',
        content_filter_result: { ...SAFE, violence: { filtered: true, severity: 'medium' } },
      },
    },
  },
};

export const RATE_LIMITED = {
  status: 429,
  headers: { 'retry-after': '7', 'retry-after-ms': '7000' },
  body: {
    error: {
      code: '429',
      message:
        'Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-10-21 have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 7 seconds.',
    },
  },
};
