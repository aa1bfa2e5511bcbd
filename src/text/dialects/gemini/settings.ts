import type { SettingNames } from '../dialect.ts';

export const settings: SettingNames = {
  toolChoice: ['toolConfig.functionCallingConfig'],
  maxOutputTokens: ['generationConfig.maxOutputTokens'],
  temperature: ['generationConfig.temperature'],
  topP: ['generationConfig.topP'],
  topK: ['generationConfig.topK'],
  stop: ['generationConfig.stopSequences'],
  n: ['generationConfig.candidateCount'],
  frequencyPenalty: ['generationConfig.frequencyPenalty'],
  presencePenalty: ['generationConfig.presencePenalty'],
  seed: ['generationConfig.seed'],
  logprobs: ['generationConfig.responseLogprobs'],
  topLogprobs: ['generationConfig.logprobs'],
  format: ['generationConfig.responseJsonSchema', 'generationConfig.responseMimeType'],
  reasoning: ['generationConfig.thinkingConfig'],
};
