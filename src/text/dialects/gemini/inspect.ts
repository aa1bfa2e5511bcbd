import { all, any, type Check, feature, object, reference } from '../inspection.ts';
import { isStoredFile } from './decode-turns.ts';

/** A file of an account at Google, or an address that Google reads. */
const fileUri: Check = (value, found) => {
  if (typeof value !== 'string') return;
  if (isStoredFile(value)) found.use('file_id', value);
  else found.address(value);
};

const media = {
  inlineData: object(any('mimeType', 'data', 'displayName')),
  fileData: object({ ...any('mimeType', 'displayName'), fileUri }),
  ...any('mediaProcessing', 'mediaResolution', 'videoMetadata'),
};

const parts = object({
  ...media,
  ...any('text', 'thought', 'thoughtSignature', 'partMetadata'),
  functionCall: object(any('id', 'name', 'args')),
  functionResponse: object({
    ...any('id', 'name', 'response', 'scheduling', 'willContinue'),
    parts: object(media),
  }),
  // What Google ran for an earlier answer.
  ...any('executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'),
});

const content = object({ role: null, parts });

const modalities: Check = (value, found) => {
  for (const one of Array.isArray(value) ? value : []) {
    if (one === 'IMAGE') found.use('image_generation');
    else if (one !== 'TEXT') found.use('audio');
  }
};

const generationConfig = object({
  ...any(
    'candidateCount',
    'enableEnhancedCivicAnswers',
    'frequencyPenalty',
    'logprobs',
    'maxOutputTokens',
    'mediaResolution',
    'presencePenalty',
    'responseFormat',
    'responseJsonSchema',
    'responseLogprobs',
    'responseMimeType',
    'responseSchema',
    'seed',
    'stopSequences',
    'temperature',
    'topK',
    'topP',
  ),
  thinkingConfig: object(any('includeThoughts', 'thinkingBudget', 'thinkingLevel')),
  responseModalities: modalities,
  imageConfig: feature('image_generation'),
  speechConfig: feature('audio'),
});

/** The properties of a gemini request, and the features that they need. */
export const inspect: Check = object({
  contents: content,
  systemInstruction: content,
  tools: object({
    functionDeclarations: object(
      any(
        'name',
        'description',
        'parameters',
        'parametersJsonSchema',
        'response',
        'responseJsonSchema',
      ),
    ),
    googleSearch: feature('web_search'),
    googleSearchRetrieval: feature('web_search'),
    googleMaps: feature('web_search'),
    urlContext: feature('web_fetch'),
    codeExecution: feature('code_interpreter'),
    computerUse: feature('computer_use'),
    fileSearch: all(
      feature('file_search'),
      object({ fileSearchStoreNames: reference('vector_store_ids') }),
    ),
    mcpServers: feature('mcp'),
  }),
  toolConfig: object(
    any('functionCallingConfig', 'includeServerSideToolInvocations', 'retrievalConfig'),
  ),
  generationConfig,
  ...any('labels', 'model', 'safetySettings'),
  cachedContent: reference('file_id'),
  serviceTier: feature('service_tier', 'standard'),
  store: feature('conversation', false),
});
