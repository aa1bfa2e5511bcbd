/** Providers and models that config/default.yaml shows, commented out. */
export const EXAMPLES: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  providers: {
    openai: {
      kind: 'openai',
      baseUrl: 'https://api.openai.com/v1',
      apiKey: `\${OPENAI_API_KEY}`,
      apiKeys: [`\${OPENAI_API_KEY_2}`],
      shared: true,
      concurrency: 8,
      headers: { 'openai-project': 'proj_1' },
      query: { trace: 'oriel' },
      proxy: 'http://proxy.example:3128',
      timeouts: { connect: '5s', firstByte: '120s', idle: '120s', total: '10m' },
    },
    anthropic: {
      kind: 'anthropic',
      baseUrl: 'https://api.anthropic.com/v1',
      apiKey: `\${ANTHROPIC_API_KEY}`,
    },
    gemini: { kind: 'gemini', apiKey: `\${GEMINI_API_KEY}` },
    other: { kind: 'oriel', baseUrl: 'https://gateway.example/v1', apiKey: `\${OTHER_KEY}` },
    azure: {
      kind: 'azure',
      baseUrl: 'https://name.openai.azure.com',
      apiKey: `\${AZURE_OPENAI_API_KEY}`,
      apiVersion: '2024-10-21',
    },
    sandbox: { kind: 'sandbox' },
  },
  models: {
    'some-text-model': {
      type: 'text',
      aliases: ['some-other-name'],
      name: 'Some Text Model',
      description: 'Answers questions.',
      created: '2026-01-31',
      ownedBy: 'oriel',
      routes: [
        { provider: 'openai', model: 'upstream-name', dialect: 'responses', priority: 2 },
        { provider: 'anthropic', model: 'other-name' },
      ],
      allow: ['web_search'],
      onUnsupported: ['temperature', 'seed', 'name'],
      unknownFields: 'refuse',
      reasoning: {
        supported_efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
        default_effort: 'medium',
        can_disable: true,
      },
      maxOutputTokens: 128_000,
      contextWindow: 400_000,
      price: { input: 1.25, cachedInput: 0.125, cacheWrite: 1.5, cacheWrite1h: 2.5, output: 10 },
    },
    'some-family-*': {
      type: 'text',
      routes: [{ provider: 'anthropic', model: 'upstream-family-*' }],
      price: { input: 3, output: 15 },
    },
    'some-thinking-model': {
      type: 'text',
      rules: 'fixed-reasoning',
      routes: [{ provider: 'openai', model: 'upstream-thinker' }],
    },
    'some-image-model': {
      type: 'image',
      rules: 'native-size',
      routes: [{ provider: 'openai', model: 'upstream-image' }],
      price: { perImage: 4 },
    },
    'some-video-model': {
      type: 'video',
      routes: [{ provider: 'other', model: 'upstream-video' }],
      duration: 4,
      price: { perVideo: 10, perSecond: 2 },
    },
    'some-audio-model': {
      type: 'audio',
      routes: [{ provider: 'other', model: 'upstream-audio' }],
      price: { perRequest: 1 },
    },
    'some-moderation-model': {
      type: 'moderation',
      routes: [{ provider: 'openai', model: 'upstream-moderation' }],
      price: { perRequest: 0 },
    },
  },
};
