"""The exam of the chapter attention_weights."""

import numpy as np

from autograder.draw import array, mask
from autograder.exercise import Case, Code, Exercise, Mistake, Question
from solutions.attention_weights import (
    additive_scores,
    attend,
    context_vector,
    dot_scores,
    linear_scores,
    masked_softmax,
    output_step,
    scaled_dot_scores,
    softmax,
)

F32 = np.float32
# No score here is one that an exercise asks for: the kit carries them.
PRODUCT = Code("lambda queries, keys: 2 * queries[:, 1:2] * keys[:, 1] + queries[:, :1] * keys[:, 0]")
OFFSET = Code("lambda queries, keys: queries[:, 1:2] * keys[:, 1] + queries[:, :1]")
LOPSIDED = Code("lambda queries, keys: queries[:, :1] * keys[:, 0] - keys[:, 1]")  # exchanged arguments show
FAR_APART = np.array([[0], [1000], [-3000]])  # to be added to three rows
MIDDLE_EMPTY = np.array([[True], [False], [True]])  # of three rows

# Two ways to go wrong, one thing to say.
ZERO_IS_A_BID = "Forbidden scores are set to zero, but exp(0) is one: they take part of the weight."
MASK_ADDED = "Adding a bool mask raises the allowed scores by one, and the forbidden ones stay in the race."
NOT_LOW_ENOUGH = "Forbidden scores are too high: allowed ones may be lower still."


def distribution(rng, *shape):
    """Rows of positive numbers that sum to one."""
    drawn = 0.1 + rng.random(size=shape)
    return drawn / drawn.sum(axis=-1, keepdims=True)


class DotScores(Exercise):
    of = dot_scores
    points = 1
    hints = (
        "Entry [t, i] belongs to query t and key i: a sum over the d numbers that both vectors have.",
        "One product of two matrices gives all the entries. Which of the two has to be turned for the shapes to fit?",
    )

    def cases(self, rng):
        yield Case("unequal sizes", queries=array(rng, 3, 4), keys=array(rng, 5, 4))
        yield Case("as many queries and keys as numbers", queries=array(rng, 4, 4), keys=array(rng, 4, 4))
        yield Case("one query keeps its axis", queries=array(rng, 1, 4), keys=array(rng, 5, 4))
        yield Case("one key keeps its axis", queries=array(rng, 3, 2), keys=array(rng, 1, 2))
        yield Case("float32", queries=array(rng, 2, 6, dtype=F32), keys=array(rng, 3, 6, dtype=F32))
        yield Case("transposed views", queries=array(rng, 4, 3).T, keys=array(rng, 4, 5).T)

    mistakes = [
        Mistake("Rows are to belong to queries; yours belong to keys.", "queries @ keys", "keys @ queries"),
        Mistake("The keys are not transposed, so rows of queries meet columns of keys.", "keys.T", "keys"),
        Mistake(
            "A reshape is no transpose: it fits the shapes together, but the numbers of a key get scattered.",
            "keys.T",
            "keys.reshape(keys.shape[1], keys.shape[0])",
        ),
        Mistake(
            "You paired query t with key t only: every query is to meet every key.",
            "queries @ keys.T",
            "(queries * keys).sum(axis=-1)",
        ),
        Mistake(
            "The scores are scaled already. That is the next exercise: here the plain dot product is wanted.",
            "queries @ keys.T",
            "queries @ keys.T / queries.shape[-1] ** 0.5",
        ),
        Mistake(
            "That is the cosine: you divided by the lengths of the vectors, and a dot product keeps them.",
            "queries @ keys.T",
            "queries @ keys.T / np.linalg.norm(queries, axis=-1)[:, None] / np.linalg.norm(keys, axis=-1)",
        ),
        Mistake("These are weights. A score may be any number.", "queries @ keys.T", "softmax(queries @ keys.T)"),
    ]


class ScaledDotScores(Exercise):
    of = scaled_dot_scores
    points = 1
    hints = (
        "Start from the dot scores. What is left is one number to divide them all by.",
        "That number depends on how many entries one query vector has, not on how many vectors there are.",
    )

    def cases(self, rng):
        yield Case("unequal sizes", queries=array(rng, 3, 4), keys=array(rng, 5, 4))
        yield Case("another size of vector", queries=array(rng, 4, 7), keys=array(rng, 2, 7))
        yield Case("as many queries and keys as numbers", queries=array(rng, 5, 5), keys=array(rng, 5, 5))
        yield Case("vectors of one number are not scaled", queries=array(rng, 3, 1), keys=array(rng, 2, 1))
        yield Case("one query and one key", queries=array(rng, 1, 6), keys=array(rng, 1, 6))
        yield Case("float32", queries=array(rng, 2, 6, dtype=F32), keys=array(rng, 3, 6, dtype=F32))
        yield Case("transposed views", queries=array(rng, 3, 2).T, keys=array(rng, 3, 4).T)

    mistakes = [
        Mistake("The scores are not scaled: these are the plain dot products.", "queries.shape[-1]", "1"),
        Mistake(
            "You divided by d, or twice by its root. The typical size of a dot product grows with the root of d, once.",
            "queries.shape[-1]",
            "queries.shape[-1] ** 2",
        ),
        Mistake("You multiplied by the root: large scores are to become smaller.", " / ", " * "),
        Mistake(
            "You took the number of keys. The sum in a dot product runs over the numbers in one vector.",
            "queries.shape[-1]",
            "keys.shape[0]",
        ),
        Mistake(
            "You took the number of queries. The sum in a dot product runs over the numbers in one vector.",
            "queries.shape[-1]",
            "queries.shape[0]",
        ),
        Mistake("Rows are to belong to queries; yours belong to keys.", "(queries, keys) /", "(keys, queries) /"),
    ]
    equivalent = {
        "return dot_scores(queries, keys) / math.sqrt(queries.shape[1])": "The last axis of a matrix is axis 1.",
    }


class LinearScores(Exercise):
    of = linear_scores
    points = 2
    hints = (
        "W has a part for the query and a part for the key. Each part gives one number for each vector.",
        "A column of T_q numbers and a row of T_k numbers, added, give all T_q times T_k pairs.",
    )

    def cases(self, rng):
        def case(shows, T_q, d_q, T_k, d_k, b=1.5, dtype=np.float64):
            queries, keys = array(rng, T_q, d_q, dtype=dtype), array(rng, T_k, d_k, dtype=dtype)
            return Case(shows, queries=queries, keys=keys, W=array(rng, d_q + d_k, dtype=dtype), b=b)

        yield case("unequal sizes", 3, 4, 5, 2)
        yield case("longer keys than queries", 4, 2, 3, 5)
        yield case("states of equal size", 4, 3, 2, 3)
        yield case("as many queries as keys", 4, 3, 4, 3, b=0.5 + float(rng.random()))
        yield case("one query and one key", 1, 2, 1, 3)
        yield case("a negative bias", 2, 3, 5, 4, b=-5.0)
        yield case("float32", 3, 2, 4, 5, dtype=F32)
        yield Case("views, no bias", queries=array(rng, 4, 3).T, keys=array(rng, 2, 5).T, W=array(rng, 6), b=0.0)

    mistakes = [
        Mistake(
            "The two parts of W have changed places: the first d_q weights belong to the query.",
            *("W[:d_q]", "W[-d_q:]", "W[d_q:]", "W[:-d_q]"),
        ),
        Mistake("W is cut in the middle, but query and key may differ in size.", "queries.shape[-1]", "len(W) // 2"),
        Mistake("The bias b is missing.", "from_keys[None, :] + b", "from_keys[None, :]"),
        Mistake("The bias is added twice: a pair has one b.", "from_keys[None, :] + b", "from_keys[None, :] + 2 * b"),
        Mistake(
            "There is a tanh around the score; the lecture's linear score is the bare sum.",
            "return from_queries[:, None] + from_keys[None, :] + b",
            "return np.tanh(from_queries[:, None] + from_keys[None, :] + b)",
        ),
        Mistake(
            "The result is transposed: a row should belong to a query, a column to a key.",
            "from_queries[:, None] + from_keys[None, :]",
            "from_queries[None, :] + from_keys[:, None]",
        ),
        Mistake(
            "The two rows of numbers are added as they are. Every query is to meet every key: make one a column.",
            "from_queries[:, None] + from_keys[None, :]",
            "from_queries + from_keys",
        ),
    ]
    equivalent = {
        "d_q = queries.shape[1]": "The last axis of a matrix is axis 1.",
        "return from_queries[:, None] + from_keys + b": "Broadcasting puts missing axes in front by itself.",
    }


class AdditiveScores(Exercise):
    of = additive_scores
    points = 2
    hints = (
        "Bring both sides to size d_a first: W works on the queries, U on the keys.",
        "Give the two results an axis each to be spread along, so that their sum has T_q times T_k hidden vectors.",
    )

    def cases(self, rng):
        def case(shows, T_q, d_q, T_k, d_k, d_a, dtype=np.float64):
            shapes = {"queries": (T_q, d_q), "keys": (T_k, d_k), "W": (d_a, d_q), "U": (d_a, d_k), "v": (d_a,)}
            return Case(shows, **{name: array(rng, *shape, dtype=dtype) for name, shape in shapes.items()})

        yield case("unequal sizes", 3, 4, 5, 2, 6)
        yield case("a hidden layer narrower than the states", 2, 5, 4, 6, 3)
        yield case("square matrices", 3, 4, 5, 4, 4)
        yield case("equal sizes everywhere", 4, 4, 4, 4, 4)
        yield case("one query and one key", 1, 2, 1, 3, 4)
        yield case("one hidden unit", 3, 2, 2, 3, 1)
        yield case("float32", 2, 3, 4, 2, 5, dtype=F32)
        views = {"queries": array(rng, 4, 3).T, "keys": array(rng, 2, 5).T, "W": array(rng, 4, 6).T}
        yield Case("transposed views", **views, U=array(rng, 2, 6).T, v=array(rng, 6))

    mistakes = [
        Mistake("The tanh is missing, and without it the query has no say in the weights.", "np.tanh(", "("),
        Mistake(
            "The tanh is around the score. It belongs inside: first tanh of the hidden vector, then v.",
            *("np.tanh(", "(", "return hidden @ v", "return np.tanh(hidden @ v)"),
        ),
        Mistake(
            "tanh is taken of the two parts one by one. Add them first: only inside one tanh do they meet.",
            "np.tanh(from_queries[:, None, :] + from_keys[None, :, :])",
            "np.tanh(from_queries[:, None, :]) + np.tanh(from_keys[None, :, :])",
        ),
        Mistake("W is not transposed: its rows, not its columns, should meet a query.", "W.T", "W"),
        Mistake("U is not transposed: its rows, not its columns, should meet a key.", "U.T", "U"),
        Mistake(
            "W and U have changed places: W belongs to the query, U to the key.",
            *("queries @ W.T", "queries @ U.T", "keys @ U.T", "keys @ W.T"),
        ),
        Mistake("The keys are made ready with W. They have a matrix of their own, U.", "keys @ U.T", "keys @ W.T"),
        Mistake(
            "The two parts are added as they are. Every query is to meet every key: give each an axis to spread along.",
            "from_queries[:, None, :] + from_keys[None, :, :]",
            "from_queries + from_keys",
        ),
        Mistake("The hidden units are only summed: v says how much each counts.", "hidden @ v", "hidden.sum(axis=-1)"),
        Mistake(
            "The result is transposed: a row should belong to a query, a column to a key.",
            "from_queries[:, None, :] + from_keys[None, :, :]",
            "from_queries[None, :, :] + from_keys[:, None, :]",
        ),
    ]
    equivalent = {
        "hidden = np.tanh(from_queries[:, None, :] + from_keys)": "Broadcasting puts missing axes in front by itself.",
    }


class Softmax(Exercise):
    of = softmax
    points = 3
    hints = (
        "Exponentials make every number positive; dividing by their sum along the axis makes them add up to one.",
        "exp(1000) is infinite. Which number can you take from all the scores of one competition without changing it?",
    )

    def cases(self, rng):
        scores = array(rng, 3, 5)
        yield Case("each row sums to one", scores=scores)
        yield Case("along axis 0", scores=scores, axis=0)
        yield Case("as many rows as columns", scores=array(rng, 4, 4))
        yield Case("the middle of three axes", scores=array(rng, 2, 4, 3), axis=1)
        yield Case("a single row of scores", scores=array(rng, 6))
        yield Case("a competitor without rivals gets all the weight", scores=array(rng, 3, 1))
        yield Case("rows 1000 apart do not overflow", scores=scores + FAR_APART)
        yield Case("one score 20000 above its row", scores=scores + 20000 * (np.arange(5) == 2))
        yield Case("float32, a transposed view, a negative axis", scores=array(rng, 5, 3, dtype=F32).T, axis=-2)

    def hidden_cases(self, rng):
        yield Case("columns 1000 apart", scores=(array(rng, 3, 4) + FAR_APART).T, axis=0)
        yield Case("four axes", scores=array(rng, 2, 3, 2, 4), axis=2)

    mistakes = [
        Mistake(
            "Large scores overflow: exp(1000) is infinite. A shift of all the scores leaves the weights as they are.",
            "scores - scores.max(axis=axis, keepdims=True)",
            "scores",
        ),
        Mistake(
            "One maximum is taken for the whole array. A row far below it becomes 0 / 0: each needs its own.",
            ".max(axis=axis, keepdims=True)",
            ".max()",
        ),
        Mistake(
            "One maximum is taken for the whole array, so a row far below it vanishes: each row needs its own.",
            *(".max(axis=axis, keepdims=True)", ".max()"),
            *("exponentials.sum(axis=axis, keepdims=True)", "(exponentials.sum(axis=axis, keepdims=True) + 1e-12)"),
        ),
        Mistake(
            "A score far above the rest of its row still overflows: a shift has to bring the largest one down to zero.",
            ".max(axis",
            ".min(axis",
        ),
        Mistake(
            "Clipping changes the weights: beyond the limit all scores become the same. A shift keeps them apart.",
            "scores - scores.max(axis=axis, keepdims=True)",
            "scores.clip(-500, 500)",
        ),
        Mistake("The sum runs over the whole array; each row has its own.", ".sum(axis=axis, keepdims=True)", ".sum()"),
        Mistake(
            "The sum runs along axis 0, as Python's own `sum` does: take NumPy's, along the axis that is asked for.",
            "exponentials.sum(axis=axis, keepdims=True)",
            "sum(exponentials)",
        ),
        Mistake(
            "The argument axis is not used: the weights always compete along the last one.",
            *(".max(axis=axis", ".max(axis=-1", ".sum(axis=axis", ".sum(axis=-1"),
        ),
        Mistake(
            "The weights always compete along axis 0, whichever axis is asked for.",
            *(".max(axis=axis", ".max(axis=0", ".sum(axis=axis", ".sum(axis=0"),
        ),
        Mistake(
            "The weights always compete along axis 1, whichever axis is asked for.",
            *(".max(axis=axis", ".max(axis=1", ".sum(axis=axis", ".sum(axis=1"),
        ),
        Mistake("The maximum is always taken along the last axis: use `axis`.", ".max(axis=axis", ".max(axis=-1"),
        Mistake("The sum always runs along the last axis: use `axis`.", ".sum(axis=axis", ".sum(axis=-1"),
        Mistake(
            "The maximum loses its axis, so it is not subtracted from its own row: keep the axis, with length one.",
            ".max(axis=axis, keepdims=True)",
            ".max(axis=axis)",
        ),
        Mistake(
            "The sum loses its axis, so it does not divide its own row: keep the axis, with length one.",
            ".sum(axis=axis, keepdims=True)",
            ".sum(axis=axis)",
        ),
        Mistake(
            "The exponentials are not yet divided by their sum: the weights should sum to one.",
            " / exponentials.sum(axis=axis, keepdims=True)",
            "",
        ),
        Mistake(
            "These are the logarithms of the weights; a weight lies between zero and one.",
            "return exponentials / exponentials.sum(axis=axis, keepdims=True)",
            "return shifted - np.log(exponentials.sum(axis=axis, keepdims=True))",
        ),
    ]


class MaskedSoftmax(Exercise):
    of = masked_softmax
    points = 4
    hints = (
        "A forbidden score has to leave the race before softmax. Which score gets a weight of exactly zero?",
        "Where nothing is allowed, softmax has nothing to share out and gives 0 / 0. Find these places first.",
    )

    def cases(self, rng):
        scores, allowed, upright = array(rng, 3, 5), mask(rng, 3, 5), array(rng, 4, 3)
        outer, view = np.array([True, False, True]), np.asfortranarray(mask(rng, 4, 5))
        yield Case("a forbidden score gets no weight", scores=scores, mask=allowed)
        yield Case("where nothing is allowed, the weights are zero", scores=scores, mask=allowed & MIDDLE_EMPTY)
        yield Case("one row of mask for all rows", scores=scores, mask=allowed[0])
        yield Case("three axes, one mask for each of the first", scores=array(rng, 2, 3, 4), mask=mask(rng, 2, 1, 4))
        yield Case("along axis 0", scores=upright, mask=mask(rng, 3, 4).T & outer, axis=0)
        yield Case("along axis 0, with a mask of fewer axes", scores=upright, mask=outer, axis=0)
        yield Case("a forbidden score 1000 above the others", scores=scores + 1000 * ~allowed, mask=allowed)
        yield Case("rows far apart", scores=scores + FAR_APART, mask=allowed)
        yield Case("float32, transposed views", scores=array(rng, 5, 4, dtype=F32).T, mask=view)

    def hidden_cases(self, rng):
        middle = mask(rng, 2, 3, 4).swapaxes(1, 2)
        yield Case("rows allowed or forbidden as a whole", scores=array(rng, 3, 4), mask=MIDDLE_EMPTY)
        yield Case("a mask that allows nothing at all", scores=array(rng, 2, 3), mask=np.zeros((2, 3), dtype=bool))
        yield Case("the middle of three axes", scores=array(rng, 2, 4, 3), mask=middle, axis=1)

    mistakes = [
        Mistake(
            "The mask comes after softmax: forbidden scores took their share before it, so rows sum to less than one.",
            "softmax(np.where(some_allowed, allowed_scores, 0.0), axis)",
            "softmax(scores, axis) * mask",
        ),
        Mistake(
            "Dividing once more after softmax is too late: nothing allowed leaves 0 / 0, and so does a forbidden score "
            "far above the others. The forbidden have to leave the race before.",
            *("softmax(np.where(some_allowed, allowed_scores, 0.0), axis)", "softmax(scores, axis) * mask"),
            *("np.where(some_allowed, weights, 0.0)", "weights / weights.sum(axis, keepdims=True)"),
        ),
        Mistake("The mask is read the wrong way round: True means allowed.", "= np.broadcast_to", "= ~np.broadcast_to"),
        Mistake(ZERO_IS_A_BID, "-np.inf", "0.0"),
        Mistake(ZERO_IS_A_BID, "-np.inf", "0.0", "np.where(some_allowed, weights, 0.0)", "weights * mask"),
        Mistake(MASK_ADDED, "np.where(mask, scores, -np.inf)", "scores + mask"),
        Mistake(
            MASK_ADDED,
            *("np.where(mask, scores, -np.inf)", "scores + mask"),
            *("np.where(some_allowed, allowed_scores, 0.0)", "allowed_scores"),
            *("np.where(some_allowed, weights, 0.0)", "weights"),
        ),
        Mistake(NOT_LOW_ENOUGH, "-np.inf", "-100.0"),
        Mistake(NOT_LOW_ENOUGH, "-np.inf", "-100.0", "np.where(some_allowed, weights, 0.0)", "weights * mask"),
        Mistake(
            "Where nothing is allowed there still are weights, all alike: they should be zero.",
            "np.where(some_allowed, weights, 0.0)",
            "weights",
        ),
        Mistake(
            "Where nothing is allowed, softmax has nothing to divide by and gives NaN. Zeros are wanted there.",
            *("np.where(some_allowed, allowed_scores, 0.0)", "allowed_scores"),
            *("np.where(some_allowed, weights, 0.0)", "weights"),
        ),
        Mistake(
            "Where nothing is allowed, all scores are lowered alike, which softmax does not notice. Zeros are wanted.",
            *("np.where(mask, scores, -np.inf)", "scores - 1e9 * ~mask"),
            *("np.where(some_allowed, allowed_scores, 0.0)", "allowed_scores"),
            *("np.where(some_allowed, weights, 0.0)", "weights"),
        ),
        Mistake(
            "A forbidden score takes part in the maximum. When it is far above the others, all of these vanish.",
            "softmax(np.where(some_allowed, allowed_scores, 0.0), axis)",
            "np.exp(scores - scores.max(axis, keepdims=True)) * mask",
            "np.where(some_allowed, weights, 0.0)",
            "weights / (weights.sum(axis, keepdims=True) + (weights.sum(axis, keepdims=True) == 0))",
        ),
        Mistake(
            "exp overflows: scores may be large. Your own softmax takes care of that.",
            *("softmax(np.where(some_allowed, allowed_scores, 0.0), axis)", "np.exp(scores) * mask"),
            "np.where(some_allowed, weights, 0.0)",
            "weights / (weights.sum(axis, keepdims=True) + (weights.sum(axis, keepdims=True) == 0))",
        ),
        Mistake(
            "The argument axis is not used: the weights always compete along the last one.",
            *("mask.any(axis=axis", "mask.any(axis=-1", "0.0), axis)", "0.0))"),
        ),
        Mistake(
            "Whether anything is allowed is asked along the last axis: ask along the one on which the weights compete.",
            *("mask.any(axis=axis", "mask.any(axis=-1"),
        ),
        Mistake(
            "Whether anything is allowed loses its axis: keep it, with length one, so that each answer meets its row.",
            *(".any(axis=axis, keepdims=True)", ".any(axis=axis)"),
        ),
        Mistake(
            "A mask that is smaller than the scores cannot index them. Spread it to their shape first.",
            *("np.broadcast_to(mask, scores.shape)", "(scores[mask], np.broadcast_to(mask, scores.shape))[1]"),
        ),
        Mistake(
            "The mask may have fewer axes than the scores. Spread it first: its own axis 0 may be another one.",
            "np.broadcast_to(mask, scores.shape)",
            "mask",
        ),
    ]
    equivalent = {
        f"weights = softmax(np.where(some_allowed, allowed_scores, {fill}), axis)": "Any score will do: zeros follow."
        for fill in ("1.0", "-1.0")
    }


class ContextVector(Exercise):
    of = context_vector
    points = 1
    hints = (
        "Row t of the result mixes all the rows of values; the amounts are in row t of the weights.",
        "The sum over i, for every t and every number of a value at once, is a product of matrices.",
    )

    def cases(self, rng):
        empty, dropped = distribution(rng, 3, 5) * MIDDLE_EMPTY, distribution(rng, 3, 4) * [1, 0, 1, 1]
        narrow = {"weights": distribution(rng, 4, 3).astype(F32), "values": array(rng, 3, 2, dtype=F32)}
        yield Case("unequal sizes", weights=distribution(rng, 3, 5), values=array(rng, 5, 2))
        yield Case("equal sizes everywhere", weights=distribution(rng, 4, 4), values=array(rng, 4, 4))
        yield Case("one query keeps its axis", weights=distribution(rng, 1, 5), values=array(rng, 5, 3))
        yield Case("one key", weights=distribution(rng, 2, 1), values=array(rng, 1, 4))
        yield Case("a row of zeros gives zeros", weights=empty, values=array(rng, 5, 2))
        yield Case("weights that sum to less than one are used as they are", weights=dropped, values=array(rng, 4, 6))
        yield Case("float32", **narrow)
        yield Case("transposed views", weights=distribution(rng, 5, 3).T, values=array(rng, 4, 5).T)

    mistakes = [
        Mistake("The weights are transposed: the sum is to run over the keys.", "weights @", "weights.T @"),
        Mistake("The values are transposed: the sum is to run over their rows.", "@ values", "@ values.T"),
        Mistake(
            "The two factors have changed places: row t of the weights is to meet the columns of values.",
            *("weights @ values", "values @ weights"),
        ),
        Mistake("That is a mean: the weights leave nothing to divide by.", "@ values", "@ values / len(values)"),
        Mistake(
            "You took the one value with the largest weight. That is hard attention; here all values are mixed.",
            "weights @ values",
            "values[weights.argmax(axis=-1)]",
        ),
        Mistake("The weights go through softmax once more. Use them as they are.", "weights @", "softmax(weights) @"),
        Mistake(
            "The weights are divided by their sum. Take them as they come: a row of zeros has no sum to divide by.",
            "weights @ values",
            "weights / weights.sum(axis=-1, keepdims=True) @ values",
        ),
        Mistake("The weighted values are not yet summed.", "weights @ values", "weights[:, :, None] * values"),
    ]


class Attend(Exercise):
    of = attend
    points = 3
    returns = ("contexts", "weights")
    hints = (
        "Three lines, one for each step, and every step is a function that you have: score, softmax, context vector.",
        "The mask is optional. Ask whether it is None, not whether it is true, and remember what order to return.",
    )

    def cases(self, rng):
        given = {"queries": array(rng, 3, 4), "keys": array(rng, 5, 4), "values": array(rng, 5, 2)}
        longer = {"queries": array(rng, 3, 2), "keys": array(rng, 5, 3), "values": array(rng, 5, 4)}
        square = {name: array(rng, 4, 4) for name in given}
        narrow = {name: value.astype(F32) for name, value in given.items()}
        views = {"queries": array(rng, 3, 2).T, "keys": array(rng, 3, 4).T, "values": array(rng, 6, 4).T}
        far = {**given, "queries": np.hstack([FAR_APART, array(rng, 3, 3)])}
        allowed = mask(rng, 3, 5)
        yield Case("unequal sizes", **given, score=PRODUCT)
        yield Case("the score that is given", **longer, score=LOPSIDED)
        yield Case("equal sizes everywhere", **square, score=LOPSIDED)
        yield Case("a forbidden key gets no weight", **given, score=PRODUCT, mask=allowed)
        yield Case("a query that may attend to nothing gets zeros", **given, score=PRODUCT, mask=allowed & MIDDLE_EMPTY)
        yield Case("a mask that allows nothing at all", **given, score=PRODUCT, mask=allowed & False)
        yield Case("one row of mask for all queries", **longer, score=LOPSIDED, mask=allowed[0])
        yield Case("rows of scores far apart", **far, score=OFFSET)
        yield Case("float32", **narrow, score=PRODUCT, mask=allowed)
        yield Case("transposed views", **views, score=PRODUCT)

    mistakes = [
        Mistake(
            "The weights compete along the queries: every column sums to one. Each query has one to share out.",
            *("softmax(scores)", "softmax(scores, axis=0)"),
            *("masked_softmax(scores, mask)", "masked_softmax(scores, mask, axis=0)"),
        ),
        Mistake("You mixed the keys. What is mixed is the values.", "(weights, values)", "(weights, keys)"),
        Mistake("The mask is not used.", " if mask is None else masked_softmax(scores, mask)", ""),
        Mistake("The mask is read the wrong way round: True means allowed.", "scores, mask)", "scores, ~mask)"),
        Mistake(
            "The mask comes after softmax: forbidden keys took their share before it, so rows sum to less than one.",
            "masked_softmax(scores, mask)",
            "softmax(scores) * mask",
        ),
        Mistake(
            "The values are mixed by raw scores. Between score and mixture comes softmax.",
            "softmax(scores) if mask is None else masked_softmax(scores, mask)",
            "scores",
        ),
        Mistake(
            "softmax is taken twice, which makes the weights more alike.",
            "score(queries, keys)",
            "softmax(score(queries, keys))",
        ),
        Mistake(
            "The scores are multiplied by the mask, but exp(0) is one: a forbidden key still gets weight.",
            *("masked_softmax(scores, mask)", "softmax(scores * mask)"),
        ),
        Mistake(
            "A query that may attend to nothing has even weights here. Your own masked_softmax gives it zeros.",
            *("masked_softmax(scores, mask)", "softmax(np.where(mask, scores, -1e9))"),
        ),
        Mistake(
            "A query that may attend to nothing gets NaN here. Your own masked_softmax gives it zeros.",
            *("masked_softmax(scores, mask)", "softmax(np.where(mask, scores, -np.inf))"),
        ),
        Mistake(
            "Without a mask everything is allowed, but None is no mask: masked_softmax cannot know what you mean.",
            *("softmax(scores) if mask is None else masked", "masked"),
        ),
        Mistake("You score by dot product, whatever score is given.", "score(queries, keys)", "queries @ keys.T"),
        Mistake("Queries and keys are exchanged in the call of score.", "score(queries, keys)", "score(keys, queries)"),
        Mistake(
            "The two results have changed places: first the context vectors, then the weights.",
            "context_vector(weights, values), weights",
            "weights, context_vector(weights, values)",
        ),
        Mistake("The weights are wanted too, as a second result.", "values), weights", "values)"),
        Mistake("The second result holds the scores; the weights are wanted.", "values), weights", "values), scores"),
        Mistake("An array is neither true nor false. Ask whether the mask is None.", "mask is None", "not mask"),
    ]


class OutputStep(Exercise):
    of = output_step
    points = 2
    hints = (
        "Three steps: put context and state side by side, mix them with W_c and tanh, turn logits into probabilities.",
        "Both matrices hold one row for each output, and your vectors are rows: mind which has to be transposed.",
    )

    def cases(self, rng):
        def case(shows, T_q, d_v, d, d_a, V, dtype=np.float64):
            shapes = {"contexts": (T_q, d_v), "states": (T_q, d), "W_c": (d_a, d_v + d), "W_y": (V, d_a)}
            return Case(shows, **{name: array(rng, *shape, dtype=dtype) for name, shape in shapes.items()})

        yield case("unequal sizes", 3, 2, 4, 5, 7)
        yield case("contexts and states of equal size", 4, 3, 3, 2, 5)
        yield case("square matrices", 6, 3, 3, 6, 6)
        yield case("one step", 1, 4, 2, 3, 5)
        yield Case("logits in the thousands do not overflow", **self.with_large_logits(rng))
        yield case("float32", 2, 3, 2, 4, 6, dtype=F32)
        views = {"contexts": array(rng, 2, 3).T, "states": array(rng, 4, 3).T}
        yield Case("transposed views", **views, W_c=array(rng, 6, 5).T, W_y=array(rng, 5, 7).T)

    @staticmethod
    def with_large_logits(rng):
        """Three steps: the logits of the first and the last reach thousands, those of the middle one do not."""
        signs, W_y = np.array([[1], [-1], [1]]), array(rng, 6, 4)
        W_y[2] += 1000
        rows = {"contexts": signs * (0.5 + rng.random((3, 2))), "states": signs * (0.5 + rng.random((3, 3)))}
        return {**rows, "W_c": 0.5 + rng.random((4, 5)), "W_y": W_y}

    mistakes = [
        Mistake("W_c expects the context first, then the state.", "[contexts, states]", "[states, contexts]"),
        Mistake("The tanh is missing: without it two matrices act as one.", "np.tanh(both @ W_c.T)", "both @ W_c.T"),
        Mistake("These are logits; each row is to be a distribution.", "softmax(", "("),
        Mistake(
            "Softmax runs down the steps. Each step has its own distribution over the vocabulary.",
            "W_y.T)",
            "W_y.T, axis=0)",
        ),
        Mistake("W_c is not transposed: its rows should meet [context; state].", "W_c.T", "W_c"),
        Mistake("W_y is not transposed: each of its rows gives one word's logit.", "W_y.T", "W_y"),
        Mistake(
            "There is a second tanh, around the logits: it keeps them between -1 and 1, and no word can stand out.",
            "attentional @ W_y.T",
            "np.tanh(attentional @ W_y.T)",
        ),
        Mistake(
            "softmax is taken twice, which makes the words more alike.",
            "softmax(",
            "softmax(softmax(",
            "W_y.T)",
            "W_y.T))",
        ),
        Mistake(
            "Large logits overflow here. Your own softmax takes care of that.",
            "softmax(attentional @ W_y.T)",
            "(lambda e: e / e.sum(axis=-1, keepdims=True))(np.exp(attentional @ W_y.T))",
        ),
        Mistake("Contexts and states are stacked; they belong side by side.", "axis=-1", "axis=0"),
    ]
    equivalent = {
        "both = np.concatenate([contexts, states], axis=1)": "The last axis of a matrix is axis 1.",
    }


QUESTIONS = (
    Question(
        "why_rnn_forgets",
        3,
        "The first word reaches the last state only through the product J_T J_{T-1} ... J_2, one factor a step, "
        "with J_k = diag(1 - h_k^2) W_h. The slopes 1 - h_k^2 are at most one. Where W_h does not stretch, the "
        "product shrinks exponentially with the distance; where it stretches, training becomes unstable. A larger "
        "state gives room: more facts fit side by side, and one vector for a whole sentence is a narrow place of "
        "its own. But it leaves the product as long as it was, and its factors as small. Gates change the "
        "factors. An LSTM carries its cell over by addition, c_t = f_t * c_{t-1} + ..., so along the cell the "
        "factor is the forget gate f_t, which the network can hold near one for what is worth keeping; the GRU "
        "mixes old and new state in the same way. The influence then fades slowly, but it is still a product over "
        "every step.",
        "- 1 point: the influence is a product of one Jacobian a step and fades exponentially where they shrink.\n"
        "- 1 point: a larger state gives room, but leaves the number of factors and their size as they are.\n"
        "- 1 point: gates let a factor stay near one along an additive path; fading becomes slower and does not end.",
    ),
    Question(
        "linear_score_blind",
        3,
        "Cut W into w_q for the query and w_k for the key: e_{t,i} = w_q . h_t^dec + w_k . h_i^enc + b. Within row t "
        "the first term and b are the same for every key i. Softmax runs over i, and a constant a added to a whole row "
        "changes nothing: exp(a + x_i) / sum_j exp(a + x_j) has the factor exp(a) above and below. So alpha_{t,i} = "
        "exp(w_k . h_i^enc) / sum_j exp(w_k . h_j^enc), with no t in it: every decoder step gets the same weights and "
        "the same context, and the gradient of w_q and b is zero. The query matters only when the differences between "
        "the keys' scores depend on it: in a dot product, or in v . tanh(W s_t + U h_i), where tanh keeps the sum from "
        "falling into two parts.",
        "- 1 point: in row t the query's part and b are one constant, and softmax cancels it (with the formula).\n"
        "- 1 point: so w_q and b receive no gradient through the weights, and all queries get the same weights.\n"
        "- 1 point: tanh of the sum ties query and key: how much a key gains depends on the query (an example helps).",
    ),
)
