import type { ModelRecord } from '../../http/routes/models.ts';
import { sendJson } from './request.ts';
import { type Resource, useResource } from './resource.ts';

export type Model = ModelRecord;

/** The models that the session's key may use. */
export function useModels(): Resource<readonly Model[]> {
  return useResource(async (signal) => {
    const { data } = await sendJson<{ data: Model[] }>('v1/models', { signal });
    return data;
  }, []);
}
