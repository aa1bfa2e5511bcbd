import { useEffect } from 'preact/hooks';
import { type Model, useAccount, useModels } from '../../api/resource.ts';
import { Link, open, type ViewProps } from '../../components/navigation.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import css from './create.css';
import { type Draft, EMPTY_DRAFT, KINDS, type Kind } from './draft.ts';
import { useGallery } from './gallery.tsx';
import { RequestForm } from './request-form.tsx';
import { Results } from './results.tsx';
import { useCreateStore } from './store.ts';
import { useSubmission } from './submission.ts';

export const style = css;

const LABELS: Readonly<Record<Kind, string>> = { image: 'Image', video: 'Video', audio: 'Audio' };

/** Makes images, videos and audio: `create/video?model=ID`. */
export default function Create({ place, session }: ViewProps) {
  const kind = KINDS.find((one) => one === place.rest) ?? 'image';
  const models = useModels();
  return (
    <>
      <h1>Create</h1>
      <ul class="kinds" aria-label="Kind of media">
        {KINDS.map((one) => (
          <li key={one}>
            <Link to={`create/${one}`} aria-current={one === kind ? 'page' : undefined}>
              {LABELS[one]}
            </Link>
          </li>
        ))}
      </ul>
      <Loaded resource={models}>
        {(all) => {
          // A wildcard stands for models whose names are not known.
          const named = all.filter(({ id }) => !id.includes('*'));
          const own = named.filter(({ type }) => type === kind);
          return own.length === 0 ? (
            <Empty title={`No ${kind} models`}>
              <p>This key may use none. The server's owner adds models to the configuration.</p>
            </Empty>
          ) : (
            <Studio
              key={kind}
              kind={kind}
              models={own}
              hasVideo={named.some(({ type }) => type === 'video')}
              query={place.query}
              account={session.account.id}
            />
          );
        }}
      </Loaded>
    </>
  );
}

interface StudioProps {
  readonly kind: Kind;
  /** Of this kind; at least one. */
  readonly models: readonly Model[];
  readonly hasVideo: boolean;
  readonly query: URLSearchParams;
  readonly account: string;
}

/** The form for one kind of media, and what was made. */
function Studio({ kind, models, hasVideo, query, account: accountId }: StudioProps) {
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
    <div class="stack create">
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
