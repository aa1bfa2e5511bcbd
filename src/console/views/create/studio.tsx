import { useEffect } from 'preact/hooks';
import { useAccount } from '../../api/account.ts';
import type { Model } from '../../api/models.ts';
import { open } from '../../components/navigation.tsx';
import { type Draft, EMPTY_DRAFT, type Kind } from './draft.ts';
import { useGallery } from './gallery.tsx';
import { RequestForm } from './request-form.tsx';
import { Results } from './results.tsx';
import { useCreateStore } from './store.ts';
import { useSubmission } from './submission.ts';

interface StudioProps {
  readonly kind: Kind;
  /** Of this kind; at least one. */
  readonly models: readonly Model[];
  readonly hasVideo: boolean;
  readonly query: URLSearchParams;
  readonly account: string;
}

/** The form for one kind of media, and what was made. */
export function Studio({ kind, models, hasVideo, query, account: accountId }: StudioProps) {
  const store = useCreateStore(accountId);
  const account = useAccount();
  const gallery = useGallery(kind, account.reload);
  const draft = store.state.drafts[kind];
  const wanted = query.get('model');
  const find = (id: string | null | undefined) => models.find((model) => model.id === id);
  const modelOf = ({ values }: Draft) => find(values['model']) ?? models[0]!;
  const model = modelOf(draft);
  const submission = useSubmission(kind, store, gallery, modelOf, account.reload);
  const { error, forgetError, isBusy } = submission;
  useEffect(() => {
    if (find(wanted)) store.fill(kind, { model: wanted! });
  }, [wanted]);
  return (
    <div class="create">
      <RequestForm
        situation={{ kind, model, draft }}
        models={models}
        error={error}
        isBusy={isBusy}
        available={account.data?.credits.available}
        onDraft={(changed) => {
          forgetError();
          store.change(kind, changed);
        }}
        onInput={(input) =>
          store.change(kind, { inputs: [...store.state.drafts[kind].inputs, input] })
        }
        onValues={(values) => {
          forgetError();
          store.fill(kind, values);
          if (values['model']) {
            const picked = new URLSearchParams({ model: values['model'] });
            open(`create/${kind}?${picked}`, { replace: true });
          }
        }}
        onSubmit={() => submission.submit(draft)}
        onReset={() => {
          forgetError();
          store.replace(kind, { ...EMPTY_DRAFT, values: { model: model.id } });
        }}
        onBringBack={store.state.replaced[kind] && (() => store.bringBack(kind))}
      />
      <Results
        {...{ kind, model, store, gallery, submission, hasVideo }}
        shown={query.get('show')}
      />
    </div>
  );
}
