import { sendJson } from './request.ts';
import { type Resource, useResource } from './resource.ts';

export type ModelType =
  | 'text'
  | 'embedding'
  | 'image'
  | 'video'
  | 'audio'
  | 'transcription'
  | 'moderation';

/** A model as `v1/models` lists it. */
export interface Model {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly owned_by: string;
  readonly type: ModelType;
  readonly name: string;
  readonly description: string | null;
  readonly endpoints: readonly string[];
  /** Credits by unit, such as `per_image`. */
  readonly pricing: Readonly<Record<string, number>>;
  readonly limits: Readonly<Record<string, number | null>>;
  /** Sizes of images, such as `1024x1024`; null where only the provider knows them. */
  readonly sizes: readonly string[] | null;
  readonly capability_metadata: {
    readonly reasoning: {
      readonly supported_efforts: readonly string[];
      readonly default_effort: string | null;
      readonly can_disable: boolean;
    };
  };
}

/** The models that the session's key may use. */
export function useModels(): Resource<readonly Model[]> {
  return useResource(async (signal) => {
    const { data } = await sendJson<{ data: Model[] }>('v1/models', { signal });
    return data;
  }, []);
}
